// Where the slices of every demand class begin in its packed order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/demand/demand.h"

namespace transload {

class SliceOffsets {
 public:
  SliceOffsets(const ReshardProblem& problem, const Demand& demand);
  // One entry more than the class has slices: the last is the class's bytes.
  std::span<const std::int64_t> of(std::uint32_t demand_class) const {
    const std::size_t first = first_[demand_class];
    return {begin_.data() + first, first_[demand_class + 1] - first};
  }
  // The slice that holds the byte; the number of slices for the end of the class.
  std::size_t slice_at(std::uint32_t demand_class, std::int64_t byte) const;
  // Slices of all classes are numbered through: the number of the class's first.
  std::size_t first_slice(std::uint32_t demand_class) const {
    return first_[demand_class] - demand_class;
  }
  std::size_t slices() const { return begin_.size() + 1 - first_.size(); }

 private:
  std::vector<std::size_t> first_;  // by class, into begin_; one more entry
  std::vector<std::int64_t> begin_;
};

}  // namespace transload
