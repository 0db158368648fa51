#include "planner/strategy/class_runs.h"

#include <algorithm>

#include "common/check.h"

namespace transload {

ClassRuns::ClassRuns(const ReshardProblem& problem, const Demand& demand)
    : problem_(problem), demand_(demand) {
  slice_begin_.reserve(demand.classes.size());
  for (const DemandClass& demand_class : demand.classes) {
    std::vector<std::int64_t>& begin = slice_begin_.emplace_back(1, 0);
    for (const DemandSlice& slice : demand_class.slices)
      begin.push_back(begin.back() + slice_bytes(problem, slice));
  }
}

std::int64_t ClassRuns::run_bytes(const DemandSlice& slice, Rank rank, Side side) const {
  const TensorGroup& group = problem_.groups[slice.group];
  const Layout& layout = problem_.layouts[side == Side::kSource ? group.source : group.destination];
  const auto first =
      std::lower_bound(layout.shards.begin(), layout.shards.end(), rank,
                       [](const RankBox& shard, Rank wanted) { return shard.rank < wanted; });
  for (auto shard = first; shard != layout.shards.end() && shard->rank == rank; ++shard)
    if (contains(shard->box, slice.box))
      return contiguous_run(layout, *shard, slice.box, dtype_bits(group.dtype)) *
             element_bytes(group.dtype);
  TRANSLOAD_CHECK(false, "a cell of the grid lies inside one box of each rank that holds it");
}

RangeRuns ClassRuns::on_rank(std::uint32_t demand_class, std::int64_t begin, std::int64_t bytes,
                             Rank rank, Side side) const {
  const std::vector<std::int64_t>& slice_begin = slice_begin_[demand_class];
  const std::vector<DemandSlice>& slices = demand_.classes[demand_class].slices;
  const std::int64_t end = begin + bytes;
  const auto after = std::upper_bound(slice_begin.begin(), slice_begin.end(), begin);
  auto index = static_cast<std::size_t>(after - slice_begin.begin()) - 1;
  std::int64_t runs = 0;
  bool single = bytes > 0;
  for (; index < slices.size() && slice_begin[index] < end; ++index) {
    const std::int64_t run = run_bytes(slices[index], rank, side);
    const std::int64_t from = std::max(begin, slice_begin[index]) - slice_begin[index];
    const std::int64_t to = std::min(end, slice_begin[index + 1]) - slice_begin[index];
    const std::int64_t touched = (to - 1) / run - from / run + 1;
    runs += touched;
    single &= touched == 1 && to - from == bytes;
  }
  return {single, runs > 0 ? std::max<std::int64_t>(1, bytes / runs) : bytes};
}

}  // namespace transload
