#include "planner/demand/slice_offsets.h"

#include <algorithm>

namespace transload {

SliceOffsets::SliceOffsets(const ReshardProblem& problem, const Demand& demand) {
  first_.reserve(demand.classes.size() + 1);
  for (const DemandClass& demand_class : demand.classes) {
    first_.push_back(begin_.size());
    begin_.push_back(0);
    for (const DemandSlice& slice : demand_class.slices)
      begin_.push_back(begin_.back() + slice_bytes(problem, slice));
  }
  first_.push_back(begin_.size());
}

std::size_t SliceOffsets::slice_at(std::uint32_t demand_class, std::int64_t byte) const {
  const std::span<const std::int64_t> begin = of(demand_class);
  return static_cast<std::size_t>(std::upper_bound(begin.begin(), begin.end(), byte) -
                                  begin.begin()) -
         1;
}

}  // namespace transload
