#include "planner/strategy/p2p_conversions.h"

#include <map>

#include "common/check.h"
#include "planner/demand/transfers.h"

namespace transload {

std::vector<ConvertedGroup> converted_groups(const ReshardProblem& problem) {
  std::vector<ConvertedGroup> groups;
  std::map<std::uint32_t, std::uint32_t> scales_of;  // by first original
  for (std::uint32_t g = 0; g < problem.groups.size(); ++g) {
    const TensorGroup& group = problem.groups[g];
    if (group.making == Making::kNotMade) continue;
    const std::uint32_t original = problem.made_from[group.first];
    if (recipe_info(group.recipe).scale)
      scales_of[original] = g;
    else
      groups.push_back({g, static_cast<std::uint32_t>(group_of(problem, original))});
  }
  for (ConvertedGroup& group : groups) {
    const std::uint32_t original = problem.made_from[problem.groups[group.values].first];
    TRANSLOAD_CHECK(problem.groups[group.original].first == original &&
                        problem.groups[group.original].count == problem.groups[group.values].count,
                    "values and originals are groups in one order");
    if (const auto found = scales_of.find(original); found != scales_of.end())
      group.scales = found->second;
  }
  return groups;
}

ReshardProblem made_at_source(const ReshardProblem& problem) {
  ReshardProblem result = problem;
  for (const ConvertedGroup& group : converted_groups(problem)) {
    TensorGroup& values = result.groups[group.values];
    if (values.making == Making::kAtSource) continue;
    values.making = Making::kAtSource;
    if (group.scales != ConvertedGroup::kNoScales)
      result.groups[group.scales].making = Making::kAtSource;
    TensorGroup& original = result.groups[group.original];
    Layout nobody;
    for (const std::int64_t extent : original.shape)
      nobody.cuts.push_back(extent > 0 ? std::vector<std::int64_t>{0, extent}
                                       : std::vector<std::int64_t>{0});
    nobody.cells.assign(1, 0);
    original.destination = static_cast<std::uint32_t>(result.layouts.size());
    result.layouts.push_back(std::move(nobody));
    // Only to tell who holds what; values have no source shards.
    values.source = original.source;
  }
  return result;
}

}  // namespace transload
