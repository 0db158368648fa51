#include "planner/layout/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_set>

#include "common/check.h"
#include "common/error.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 50;

void validate_tensor(const TensorInput& tensor) {
  std::int64_t elements = 1;
  for (std::int64_t extent : tensor.shape) {
    if (extent < 0)
      throw InputError(fmt::format("tensor {}: negative extent {}", tensor.name, extent));
    if (extent > 0 && elements > kMaxElements / extent)
      throw InputError(fmt::format("tensor {}: more than 2^50 elements", tensor.name));
    elements *= extent;
  }
  if (tensor.shape.size() > 255)
    throw InputError(
        fmt::format("tensor {}: {} dimensions; at most 255", tensor.name, tensor.shape.size()));
}

// Groups tensors by (shape, dtype, destination, source), in order of first appearance, with groups
// of equal shape and destination side by side so that their shard rows merge.
struct Grouping {
  std::vector<std::uint32_t> group_of;        // by input position
  std::vector<std::uint32_t> rank_of_group;   // place in plan order
  std::vector<std::uint32_t> representative;  // by group: an input position
};

Grouping group_tensors(const std::vector<TensorInput>& tensors) {
  using Outer = std::tuple<std::vector<std::int64_t>, DType, std::uint32_t>;
  std::map<Outer, std::uint32_t> outer_ids;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> group_ids;
  Grouping grouping;
  std::vector<std::uint32_t> outer_of_group;
  std::uint32_t last_outer = 0;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    const TensorInput& tensor = tensors[i];
    const bool as_before = i > 0 && tensor.shape == tensors[i - 1].shape &&
                           tensor.dtype == tensors[i - 1].dtype &&
                           tensor.destination == tensors[i - 1].destination;
    const std::uint32_t outer =
        as_before ? last_outer
                  : outer_ids
                        .try_emplace({tensor.shape, tensor.dtype, tensor.destination},
                                     static_cast<std::uint32_t>(outer_ids.size()))
                        .first->second;
    last_outer = outer;
    const auto [entry, added] = group_ids.try_emplace(
        {outer, tensor.source}, static_cast<std::uint32_t>(grouping.representative.size()));
    if (added) {
      grouping.representative.push_back(i);
      outer_of_group.push_back(outer);
    }
    grouping.group_of.push_back(entry->second);
  }
  std::vector<std::uint32_t> order(grouping.representative.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return outer_of_group[a] < outer_of_group[b];
  });
  grouping.rank_of_group.resize(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) grouping.rank_of_group[order[i]] = i;
  return grouping;
}

class ProblemMaker {
 public:
  explicit ProblemMaker(const ProblemInput& input) : input_(input) {}

  ReshardProblem make() {
    std::unordered_set<std::string> names;
    for (const TensorInput& tensor : input_.tensors) {
      validate_tensor(tensor);
      if (!names.insert(tensor.name).second)
        throw InputError(fmt::format("tensor {}: the name stands twice", tensor.name));
    }
    order_tensors(group_tensors(input_.tensors));
    collect_ranks();
    return std::move(problem_);
  }

 private:
  void order_tensors(const Grouping& grouping) {
    const std::size_t groups = grouping.representative.size();
    problem_.groups.resize(groups);
    for (std::uint32_t group : grouping.group_of)
      ++problem_.groups[grouping.rank_of_group[group]].count;
    std::uint32_t next = 0;
    for (TensorGroup& group : problem_.groups) {
      group.first = next;
      next += group.count;
    }
    const std::size_t tensors = input_.tensors.size();
    problem_.names.resize(tensors);
    problem_.layers.resize(tensors);
    problem_.input_position.resize(tensors);
    std::vector<std::uint32_t> fill(groups, 0);
    for (std::uint32_t i = 0; i < tensors; ++i) {
      const std::uint32_t place = grouping.rank_of_group[grouping.group_of[i]];
      const std::uint32_t tensor = problem_.groups[place].first + fill[place]++;
      problem_.names[tensor] = input_.tensors[i].name;
      problem_.layers[tensor] = input_.tensors[i].layer;
      problem_.input_position[tensor] = i;
    }
    for (std::size_t g = 0; g < groups; ++g) {
      const TensorInput& tensor = input_.tensors[grouping.representative[g]];
      TensorGroup& group = problem_.groups[grouping.rank_of_group[g]];
      group.shape = tensor.shape;
      group.dtype = tensor.dtype;
      group.source = source_layout(tensor);
      group.destination = destination_layout(tensor);
    }
  }

  std::uint32_t source_layout(const TensorInput& tensor) {
    TRANSLOAD_CHECK(tensor.source < input_.source_shardings.size(),
                    "tensors name shardings that exist");
    return layout(0, tensor.source, tensor, "source", {&input_.source_shardings[tensor.source]});
  }

  std::uint32_t destination_layout(const TensorInput& tensor) {
    TRANSLOAD_CHECK(tensor.destination < input_.destination_shardings.size(),
                    "tensors name shardings that exist");
    std::vector<const Sharding*> pools;
    for (const Sharding& pool : input_.destination_shardings[tensor.destination])
      pools.push_back(&pool);
    return layout(1, tensor.destination, tensor, "destination", pools);
  }

  std::uint32_t layout(int side, std::uint32_t sharding, const TensorInput& tensor,
                       const char* side_name, const std::vector<const Sharding*>& pools) {
    const auto [entry, added] = layout_ids_.try_emplace(
        {side, sharding, tensor.shape}, static_cast<std::uint32_t>(problem_.layouts.size()));
    if (added)
      problem_.layouts.push_back(make_layout(pools, tensor.shape, problem_.sets,
                                             fmt::format("tensor {}, {}", tensor.name, side_name)));
    return entry->second;
  }

  void collect_ranks() {
    std::set<Rank> sources;
    std::set<Rank> destinations;
    for (const TensorGroup& group : problem_.groups) {
      for (const RankBox& shard : problem_.layouts[group.source].shards) sources.insert(shard.rank);
      for (const RankBox& shard : problem_.layouts[group.destination].shards)
        destinations.insert(shard.rank);
    }
    problem_.source_ranks.assign(sources.begin(), sources.end());
    problem_.destination_ranks.assign(destinations.begin(), destinations.end());
  }

  const ProblemInput& input_;
  ReshardProblem problem_;
  std::map<std::tuple<int, std::uint32_t, std::vector<std::int64_t>>, std::uint32_t> layout_ids_;
};

}  // namespace

std::int64_t element_bytes(DType dtype) { return dtype_bits(dtype) / 8; }

ReshardProblem make_problem(const ProblemInput& input) { return ProblemMaker(input).make(); }

}  // namespace transload
