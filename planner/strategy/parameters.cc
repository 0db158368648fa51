#include "planner/strategy/parameters.h"

#include <algorithm>
#include <set>

namespace transload {

namespace {

// The buffers of a group's first tensor, by pool; empty where nobody shares any of them.
std::vector<std::uint32_t> shared_buffers(const ReshardProblem& problem, bool source,
                                          std::uint32_t tensor) {
  const std::size_t pools =
      source ? 1 : std::max<std::size_t>(1, problem.destination_buffers.size());
  std::vector<std::uint32_t> buffers;
  bool shared = false;
  for (std::uint32_t pool = 0; pool < pools; ++pool) {
    const SideBuffers& side = side_buffers(problem, source, pool);
    buffers.push_back(side.of_tensor.empty() ? BufferRef::kOwnBuffer
                                             : side.of_tensor[tensor].buffer);
    shared |= buffers.back() != BufferRef::kOwnBuffer;
  }
  return shared ? buffers : std::vector<std::uint32_t>{};
}

// Parameters with equal buffer numbers: those of ranks that have nothing in common are different
// ones (the first expert of every rank has the same number).
struct Known {
  std::uint32_t parameter = 0;
  std::set<Rank> ranks;
};

Known* overlapping(std::vector<Known>& known, const std::set<Rank>& ranks) {
  for (Known& entry : known)
    if (std::any_of(ranks.begin(), ranks.end(),
                    [&](Rank rank) { return entry.ranks.contains(rank); }))
      return &entry;
  return nullptr;
}

}  // namespace

std::vector<std::uint32_t> parameter_of_group(const ReshardProblem& problem, bool source) {
  std::map<std::vector<std::uint32_t>, std::vector<Known>> of_buffers;
  std::vector<std::uint32_t> parameter;
  std::uint32_t next = 0;
  for (const TensorGroup& group : problem.groups) {
    const std::vector<std::uint32_t> buffers = shared_buffers(problem, source, group.first);
    if (buffers.empty()) {
      parameter.push_back(next++);
      continue;
    }
    std::set<Rank> ranks;
    for (const RankBox& shard : problem.layouts[source ? group.source : group.destination].shards)
      ranks.insert(shard.rank);
    std::vector<Known>& known = of_buffers[buffers];
    Known* mine = overlapping(known, ranks);
    if (mine == nullptr) mine = &known.emplace_back(Known{next++, {}});
    mine->ranks.merge(ranks);
    parameter.push_back(mine->parameter);
  }
  return parameter;
}

std::vector<std::map<Rank, std::int64_t>> parameter_bytes(
    const ReshardProblem& problem, bool source, const std::vector<std::uint32_t>& parameter) {
  std::vector<std::map<Rank, std::int64_t>> bytes(
      parameter.empty() ? 0 : *std::max_element(parameter.begin(), parameter.end()) + 1);
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const TensorGroup& group = problem.groups[g];
    const Layout& layout = problem.layouts[source ? group.source : group.destination];
    for (const RankBox& shard : layout.shards)
      bytes[parameter[g]][shard.rank] += volume(shard.box) * element_bytes(group.dtype);
  }
  return bytes;
}

}  // namespace transload
