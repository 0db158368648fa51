// How a byte range of a demand class lies in a rank's memory: in one piece, or in how long runs.
//
// Decides whether a chunk is copied straight out of or into its tensor (zero copy), and at what
// rate a strided pack or unpack runs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "planner/demand/slice_offsets.h"
#include "planner/schedule/plan.h"

namespace transload {

struct RangeRuns {
  bool single = false;        // one contiguous run
  std::int64_t mean_run = 0;  // bytes
};

// Answers for one problem. Thousands of ranks hold a layout in few *forms*: ranks of one form have
// equal boxes in equal memory, so that what was found for one holds for all.
class ClassRuns {
 public:
  ClassRuns(const ReshardProblem& problem, const Demand& demand);
  const SliceOffsets& offsets() const { return offsets_; }
  bool converts(std::uint32_t demand_class) const { return demand_.classes[demand_class].converts; }
  RangeRuns on_rank(std::uint32_t demand_class, std::int64_t begin, std::int64_t bytes, Rank rank,
                    Side side);

 private:
  // Run length of a slice on the ranks of one form; the answer found last.
  struct Known {
    std::uint32_t form = 0;
    std::int64_t run = 0;
  };
  using Known2 = std::array<Known, 2>;  // by side

  std::int64_t run_bytes(const DemandSlice& slice, std::size_t number, Rank rank, Side side);
  std::int64_t find_run(const TensorGroup& group, const Layout& layout, const DemandSlice& slice,
                        Rank rank) const;

  const ReshardProblem& problem_;
  const Demand& demand_;
  SliceOffsets offsets_;
  std::vector<std::vector<std::uint32_t>> form_;  // by layout and rank; from 1, 0: holds nothing
  std::vector<Known2> known_;                     // by slice of all classes
};

}  // namespace transload
