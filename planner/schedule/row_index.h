// The shard rows of one rank and side, found by tensor and by place along the tensor's first
// dimension.
//
// Ranks hold up to about a thousand rows (stacked experts: one row per slot) and bundles as many
// slices, so both look-ups are binary searches. Built once per operation, in one pass over the
// rank's rows.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

class RowIndex {
 public:
  RowIndex(const Plan& plan, std::int32_t rank, Side side);

  // Puts into `rows`, ascending, the rows that hold some part of `tensor` with a first coordinate
  // in [lower, upper); a tensor without dimensions is found with any bounds.
  void find(std::uint32_t tensor, std::int64_t lower, std::int64_t upper,
            std::vector<std::uint64_t>& rows);

 private:
  struct Holder {
    std::int64_t low;
    std::int64_t high;
    std::int64_t reach;  // the greatest `high` up to here
    std::uint64_t row;
  };
  std::uint32_t end(std::uint64_t row) const {
    return plan_.shard_tensor_first[row] + plan_.shard_tensor_count[row];
  }
  void collect_holders(std::uint32_t tensor);

  const Plan& plan_;
  std::uint64_t first_ = 0;
  std::vector<std::uint32_t> reach_;  // per row: the tensor range's greatest end up to here
  std::int64_t tensor_ = -1;          // whose rows holders_ are
  std::vector<Holder> holders_;       // by low, row
};

}  // namespace transload
