#include "planner/demand/demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "common/error.h"

namespace transload {

std::int64_t slice_bytes(const ReshardProblem& problem, const DemandSlice& slice) {
  const TensorGroup& group = problem.groups[slice.group];
  return volume(slice.box) * element_bytes(group.dtype) * group.count;
}

std::vector<CutSegment> merge_cuts(const std::vector<std::int64_t>& a,
                                   const std::vector<std::int64_t>& b) {
  std::vector<CutSegment> segments;
  std::size_t i = 0;
  std::size_t j = 0;
  std::int64_t at = 0;
  while (i + 1 < a.size() && j + 1 < b.size()) {
    const std::int64_t end = std::min(a[i + 1], b[j + 1]);
    segments.push_back({at, end, i, j});
    if (a[i + 1] == end) ++i;
    if (b[j + 1] == end) ++j;
    at = end;
  }
  return segments;
}

Demand make_demand(const ReshardProblem& problem) {
  Demand demand;
  // By whether the class converts; look-up only.
  std::unordered_map<std::uint64_t, std::uint32_t> class_of[2];
  for (std::uint32_t g = 0; g < problem.groups.size(); ++g) {
    const TensorGroup& group = problem.groups[g];
    if (group.making == Making::kAtDestination) continue;
    const bool converts = group.making == Making::kAtSource;
    const auto take = [&](const Box& box, std::uint32_t holders, std::uint32_t receivers) {
      if (receivers == 0) return;
      if (holders == 0)
        throw InputError(fmt::format(
            "tensor {}, rank {}: no source rank holds box {}, which the destination wants",
            problem.names[group.first], problem.sets.of(receivers)[0], to_string(box)));
      const std::uint64_t key = std::uint64_t{holders} << 32 | receivers;
      const auto [entry, added] = class_of[converts ? 1 : 0].try_emplace(
          key, static_cast<std::uint32_t>(demand.classes.size()));
      if (added) demand.classes.push_back({holders, receivers, 0, {}, converts});
      DemandClass& demand_class = demand.classes[entry->second];
      demand_class.slices.push_back({g, box});
      demand_class.bytes += slice_bytes(problem, demand_class.slices.back());
    };
    for_each_common_cell(problem.layouts[group.source], problem.layouts[group.destination], take);
  }
  return demand;
}

Demand narrowest(const ReshardProblem& problem, Demand demand) {
  std::unordered_map<std::uint32_t, std::int64_t> element_of;  // by first original; look-up only
  for (const TensorGroup& group : problem.groups)
    if (group.making == Making::kAtDestination && !recipe_info(group.recipe).scale)
      for (std::uint32_t t = group.first; t < group.first + group.count; ++t)
        element_of[problem.made_from[t]] = element_bytes(group.dtype);
  if (element_of.empty()) return demand;
  for (DemandClass& demand_class : demand.classes)
    for (const DemandSlice& slice : demand_class.slices) {
      const TensorGroup& group = problem.groups[slice.group];
      const auto made = element_of.find(group.first);
      if (made == element_of.end()) continue;
      const std::int64_t saved = element_bytes(group.dtype) - made->second;
      if (saved > 0) demand_class.bytes -= volume(slice.box) * saved * group.count;
    }
  return demand;
}

}  // namespace transload
