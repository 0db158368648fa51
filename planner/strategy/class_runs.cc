#include "planner/strategy/class_runs.h"

#include <algorithm>
#include <map>

#include "common/check.h"

namespace transload {
namespace {

// Everything that run lengths depend on.
std::vector<std::int64_t> description(const Layout& layout, std::size_t first, std::size_t last) {
  std::vector<std::int64_t> text;
  for (std::size_t s = first; s < last; ++s) {
    const RankBox& shard = layout.shards[s];
    text.insert(text.end(), shard.box.bounds.begin(), shard.box.bounds.end());
    text.push_back(-1);  // ends the bounds, which are not negative
    for (const PlaceLoop& loop : layout.loops[shard.loops])
      text.insert(text.end(), {loop.dim, loop.length, loop.stride_bits});
    text.push_back(-1);
  }
  return text;
}

std::vector<std::uint32_t> forms_of(const Layout& layout) {
  std::vector<std::uint32_t> forms;
  if (layout.shards.empty()) return forms;
  forms.resize(static_cast<std::size_t>(layout.shards.back().rank) + 1, 0);
  std::map<std::vector<std::int64_t>, std::uint32_t> number;
  for (std::size_t s = 0; s < layout.shards.size();) {
    const Rank rank = layout.shards[s].rank;
    std::size_t last = s;
    while (last < layout.shards.size() && layout.shards[last].rank == rank) ++last;
    const auto [entry, added] = number.try_emplace(description(layout, s, last),
                                                   static_cast<std::uint32_t>(number.size()) + 1);
    forms[static_cast<std::size_t>(rank)] = entry->second;
    s = last;
  }
  return forms;
}

}  // namespace

ClassRuns::ClassRuns(const ReshardProblem& problem, const Demand& demand)
    : problem_(problem), demand_(demand), offsets_(problem, demand), known_(offsets_.slices()) {
  form_.reserve(problem.layouts.size());
  for (const Layout& layout : problem.layouts) form_.push_back(forms_of(layout));
}

std::int64_t ClassRuns::find_run(const TensorGroup& group, const Layout& layout,
                                 const DemandSlice& slice, Rank rank) const {
  const auto first =
      std::lower_bound(layout.shards.begin(), layout.shards.end(), rank,
                       [](const RankBox& shard, Rank wanted) { return shard.rank < wanted; });
  for (auto shard = first; shard != layout.shards.end() && shard->rank == rank; ++shard)
    if (contains(shard->box, slice.box))
      return contiguous_run(layout, *shard, slice.box, dtype_bits(group.dtype)) *
             element_bytes(group.dtype);
  TRANSLOAD_CHECK(false, "a cell of the grid lies inside one box of each rank that holds it");
}

std::int64_t ClassRuns::run_bytes(const DemandSlice& slice, std::size_t number, Rank rank,
                                  Side side) {
  const TensorGroup& group = problem_.groups[slice.group];
  const std::uint32_t layout = side == Side::kSource ? group.source : group.destination;
  const std::uint32_t form = form_[layout][static_cast<std::size_t>(rank)];
  Known& known = known_[number][static_cast<std::size_t>(side)];
  if (known.form != form) known = {form, find_run(group, problem_.layouts[layout], slice, rank)};
  return known.run;
}

RangeRuns ClassRuns::on_rank(std::uint32_t demand_class, std::int64_t begin, std::int64_t bytes,
                             Rank rank, Side side) {
  const std::span<const std::int64_t> slice_begin = offsets_.of(demand_class);
  const std::vector<DemandSlice>& slices = demand_.classes[demand_class].slices;
  const std::size_t first = offsets_.first_slice(demand_class);
  const std::int64_t end = begin + bytes;
  std::int64_t runs = 0;
  bool single = bytes > 0;
  for (std::size_t index = offsets_.slice_at(demand_class, begin);
       index < slices.size() && slice_begin[index] < end; ++index) {
    const std::int64_t run = run_bytes(slices[index], first + index, rank, side);
    const std::int64_t from = std::max(begin, slice_begin[index]) - slice_begin[index];
    const std::int64_t to = std::min(end, slice_begin[index + 1]) - slice_begin[index];
    const std::int64_t touched = (to - 1) / run - from / run + 1;
    runs += touched;
    single &= touched == 1 && to - from == bytes;
  }
  return {single, runs > 0 ? std::max<std::int64_t>(1, bytes / runs) : bytes};
}

}  // namespace transload
