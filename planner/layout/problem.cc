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
#include "planner/layout/conversion.h"
#include "planner/layout/memory.h"

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

// Groups tensors by (shape, dtype, destination, making, source), in order of first appearance, with
// groups of equal shape and destination side by side so that their shard rows merge.
struct Grouping {
  std::vector<std::uint32_t> group_of;        // by input position
  std::vector<std::uint32_t> rank_of_group;   // place in plan order
  std::vector<std::uint32_t> representative;  // by group: an input position
};

Grouping group_tensors(const std::vector<TensorInput>& tensors) {
  using Outer = std::tuple<std::vector<std::int64_t>, DType, std::uint32_t, Making, Recipe>;
  std::map<Outer, std::uint32_t> outer_ids;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> group_ids;
  Grouping grouping;
  std::vector<std::uint32_t> outer_of_group;
  std::uint32_t last_outer = 0;
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    const TensorInput& tensor = tensors[i];
    const bool as_before = i > 0 && tensor.shape == tensors[i - 1].shape &&
                           tensor.dtype == tensors[i - 1].dtype &&
                           tensor.destination == tensors[i - 1].destination &&
                           tensor.made.making == tensors[i - 1].made.making &&
                           tensor.made.recipe == tensors[i - 1].made.recipe;
    const std::uint32_t outer =
        as_before ? last_outer
                  : outer_ids
                        .try_emplace({tensor.shape, tensor.dtype, tensor.destination,
                                      tensor.made.making, tensor.made.recipe},
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
    tie_tensors();
    find_originals();
    problem_.source_buffers = ordered(input_.source_buffer_of, input_.source_buffers);
    share_tied_sources();
    for (std::size_t pool = 0; pool < input_.destination_buffer_of.size(); ++pool)
      problem_.destination_buffers.push_back(
          ordered(input_.destination_buffer_of[pool], input_.destination_buffers[pool]));
    problem_.declared_buffers = input_.declared_buffers;
    collect_ranks();
    if (input_.validate_memory) validate_memory(problem_);
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
      group.making = tensor.made.making;
      group.recipe = tensor.made.recipe;
    }
  }

  std::uint32_t source_layout(const TensorInput& tensor) {
    TRANSLOAD_CHECK(tensor.source < input_.source_shardings.size(),
                    "tensors name shardings that exist");
    const PoolSharding source{0, input_.source_shardings[tensor.source]};
    return layout(0, tensor.source, tensor, "source", {&source}, {input_.absent_sources});
  }

  std::uint32_t destination_layout(const TensorInput& tensor) {
    TRANSLOAD_CHECK(tensor.destination < input_.destination_shardings.size(),
                    "tensors name shardings that exist");
    std::vector<const PoolSharding*> pools;
    for (const PoolSharding& pool : input_.destination_shardings[tensor.destination])
      pools.push_back(&pool);
    return layout(1, tensor.destination, tensor, "destination", pools, input_.absent_destinations);
  }

  std::uint32_t layout(int side, std::uint32_t sharding, const TensorInput& tensor,
                       const char* side_name, const std::vector<const PoolSharding*>& pools,
                       const std::vector<std::vector<Rank>>& absent) {
    const auto [entry, added] =
        layout_ids_.try_emplace({side, sharding, dtype_bits(tensor.dtype), tensor.shape},
                                static_cast<std::uint32_t>(problem_.layouts.size()));
    if (added)
      problem_.layouts.push_back(
          make_layout(pools, tensor.shape, dtype_bits(tensor.dtype), problem_.sets,
                      fmt::format("tensor {}, {}", tensor.name, side_name), absent));
    return entry->second;
  }

  // Of several names of one thing, the first in plan order stands for it.
  void tie_tensors() {
    const auto tensors = static_cast<std::uint32_t>(input_.tensors.size());
    std::vector<std::uint32_t> place(tensors);
    for (std::uint32_t t = 0; t < tensors; ++t) place[problem_.input_position[t]] = t;
    problem_.source_tensor.resize(tensors);
    std::iota(problem_.source_tensor.begin(), problem_.source_tensor.end(), 0u);
    for (std::uint32_t i = 0; i < tensors; ++i) {
      const TensorInput& tensor = input_.tensors[i];
      if (tensor.tied_to == TensorInput::kNotTied) continue;
      const TensorInput& original = input_.tensors[tensor.tied_to];
      TRANSLOAD_CHECK(original.tied_to == TensorInput::kNotTied && original.shape == tensor.shape &&
                          original.dtype == tensor.dtype && original.source == tensor.source,
                      "a tied name has the shape, type and source of what it names");
      std::uint32_t& first = problem_.source_tensor[place[tensor.tied_to]];
      first = std::min(first, place[i]);
    }
    for (std::uint32_t i = 0; i < tensors; ++i)
      if (const std::uint32_t original = input_.tensors[i].tied_to;
          original != TensorInput::kNotTied)
        problem_.source_tensor[place[i]] = problem_.source_tensor[place[original]];
  }

  void find_originals() {
    const auto tensors = static_cast<std::uint32_t>(input_.tensors.size());
    problem_.made_from.resize(tensors);
    std::iota(problem_.made_from.begin(), problem_.made_from.end(), 0u);
    if (std::none_of(input_.tensors.begin(), input_.tensors.end(), [](const TensorInput& tensor) {
          return tensor.made.making != Making::kNotMade;
        }))
      return;
    std::vector<std::uint32_t> place(tensors);
    for (std::uint32_t t = 0; t < tensors; ++t) place[problem_.input_position[t]] = t;
    for (std::uint32_t i = 0; i < tensors; ++i)
      if (input_.tensors[i].made.making != Making::kNotMade)
        problem_.made_from[place[i]] = place[input_.tensors[i].made.from];
  }

  // References in plan order, buffers numbered by first appearance there.
  SideBuffers ordered(const std::vector<BufferRef>& refs,
                      const std::vector<SharedBuffer>& buffers) const {
    SideBuffers side;
    if (refs.empty()) return side;
    TRANSLOAD_CHECK(refs.size() == input_.tensors.size(), "one buffer reference per tensor");
    std::vector<std::uint32_t> number(buffers.size(), BufferRef::kOwnBuffer);
    side.of_tensor.reserve(refs.size());
    for (const std::uint32_t position : problem_.input_position) {
      BufferRef ref = refs[position];
      if (ref.buffer != BufferRef::kOwnBuffer) {
        TRANSLOAD_CHECK(ref.buffer < buffers.size(), "tensors name buffers that exist");
        std::uint32_t& mine = number[ref.buffer];
        if (mine == BufferRef::kOwnBuffer) {
          mine = static_cast<std::uint32_t>(side.buffers.size());
          side.buffers.push_back(buffers[ref.buffer]);
        }
        ref.buffer = mine;
      }
      side.of_tensor.push_back(ref);
    }
    return side;
  }

  // Tied names have one source buffer, though nobody gave it a name.
  void share_tied_sources() {
    SideBuffers& side = problem_.source_buffers;
    for (std::uint32_t t = 0; t < problem_.source_tensor.size(); ++t) {
      const std::uint32_t first = problem_.source_tensor[t];
      if (first == t) continue;
      if (side.of_tensor.empty()) side.of_tensor.resize(problem_.source_tensor.size());
      if (side.of_tensor[first].buffer == BufferRef::kOwnBuffer) {
        side.of_tensor[first].buffer = static_cast<std::uint32_t>(side.buffers.size());
        side.buffers.push_back({problem_.names[first], DestinationClass::kDirect});
      }
      side.of_tensor[t] = side.of_tensor[first];
    }
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
  std::map<std::tuple<int, std::uint32_t, std::int64_t, std::vector<std::int64_t>>, std::uint32_t>
      layout_ids_;
};

}  // namespace

std::int64_t element_bytes(DType dtype) { return dtype_bits(dtype) / 8; }

std::int64_t bytes_on(const DeclaredBuffer& buffer, Rank rank) {
  const auto own = buffer.rank_bytes.find(rank);
  return own == buffer.rank_bytes.end() ? buffer.bytes : own->second;
}

const SideBuffers& side_buffers(const ReshardProblem& problem, bool source, std::uint32_t pool) {
  static const SideBuffers no_buffers;
  if (source) return problem.source_buffers;
  return pool < problem.destination_buffers.size() ? problem.destination_buffers[pool] : no_buffers;
}

ReshardProblem make_problem(const ProblemInput& input) {
  if (!has_conversions(input)) return ProblemMaker(input).make();
  ExpandedInput expanded = expand_conversions(input);
  ReshardProblem problem = ProblemMaker(expanded.input).make();
  problem.conversions = std::move(expanded.conversions);
  return problem;
}

}  // namespace transload
