// What NeMo RL's check of nccl_reshard asks for, as far as layouts show it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "planner/strategy/nemo_bulk.h"
#include "planner/strategy/nemo_hybrid.h"
#include "planner/strategy/partition.h"

namespace transload {
namespace {

bool is_expert(const std::string& name) { return is_nemo_bulk(name) && expert_of(name); }

void refuse_ranks(const Job& job, RefusalList& list) {
  std::vector<Rank> both;
  std::set_intersection(job.problem.source_ranks.begin(), job.problem.source_ranks.end(),
                        job.problem.destination_ranks.begin(), job.problem.destination_ranks.end(),
                        std::back_inserter(both));
  if (!both.empty())
    list.add("source and destination on different ranks",
             fmt::format("{} ranks are both", both.size()));
  if (job.model_parameters > 0 && job.source_groups.empty())
    list.add("a Megatron trainer", "another engine's layout");
}

// Layers per stage: equal but for the first and the last.
void refuse_pipeline(const Job& job, RefusalList& list) {
  if (job.source_groups.empty()) return;
  std::map<Rank, std::int32_t> stage_of;
  for (const RankGroups& entry : job.source_groups) stage_of[entry.rank] = entry.stage;
  const ReshardProblem& problem = job.problem;
  std::map<std::int32_t, std::int32_t> stage_of_layer;
  for (const TensorGroup& group : problem.groups) {
    const std::vector<RankBox>& shards = problem.layouts[group.source].shards;
    if (shards.empty()) continue;
    for (std::uint32_t i = 0; i < group.count; ++i)
      if (problem.layers[group.first + i] >= 0)
        stage_of_layer[problem.layers[group.first + i]] = stage_of[shards.front().rank];
  }
  std::map<std::int32_t, int> layers;
  std::int32_t before = 0;
  for (const auto& [layer, stage] : stage_of_layer) {
    if (stage < before) list.add("no virtual pipeline stages", fmt::format("layer {}", layer));
    before = stage;
    ++layers[stage];
  }
  std::vector<int> counts;
  for (const auto& [stage, count] : layers) counts.push_back(count);
  for (std::size_t i = 2; i + 1 < counts.size(); ++i)
    if (counts[i] != counts[1]) {
      list.add("an even pipeline but for its first and last stage",
               fmt::format("{} layers", fmt::join(counts, ", ")));
      return;
    }
}

void refuse_engine_pipeline(const ReshardProblem& problem, RefusalList& list) {
  std::map<std::int32_t, std::set<Rank>> ranks_of_layer;
  for (const TensorGroup& group : problem.groups) {
    std::set<std::int32_t> layers;
    for (std::uint32_t i = 0; i < group.count; ++i) layers.insert(problem.layers[group.first + i]);
    for (const std::int32_t layer : layers)
      for (const RankBox& shard : problem.layouts[group.destination].shards)
        if (layer >= 0) ranks_of_layer[layer].insert(shard.rank);
  }
  for (const auto& [layer, ranks] : ranks_of_layer)
    if (ranks != ranks_of_layer.begin()->second) {
      list.add(
          "an engine with one pipeline stage",
          fmt::format("layers {} and {} on different ranks", ranks_of_layer.begin()->first, layer));
      return;
    }
}

// How many ranks hold each cell of the layout: the least and the most.
std::pair<std::size_t, std::size_t> copies(const ReshardProblem& problem, const Layout& layout) {
  std::pair<std::size_t, std::size_t> range{SIZE_MAX, 0};
  for (const std::uint32_t cell : layout.cells) {
    range.first = std::min(range.first, problem.sets.of(cell).size());
    range.second = std::max(range.second, problem.sets.of(cell).size());
  }
  return range;
}

void refuse_experts(const ReshardProblem& problem, RefusalList& list) {
  const std::size_t ranks = problem.destination_ranks.size();
  std::size_t tensor_parallel = 1;
  std::set<std::size_t> expert_copies;
  std::string expert;
  bool expert_cut = false;
  for (const TensorGroup& group : problem.groups) {
    const std::string& name = problem.names[group.first];
    const Layout& destination = problem.layouts[group.destination];
    if (destination.cells.empty()) continue;
    const auto [least, most] = copies(problem, destination);
    if (!is_expert(name)) {
      // Of tensors that are cut evenly: a part of one is on ranks / tp ranks.
      if (least == most && least > 0) tensor_parallel = std::max(tensor_parallel, ranks / least);
      continue;
    }
    if (!cut_dimensions(problem.layouts[group.source]).empty())
      list.add("whole experts on the trainer (etp 1)", "experts are cut", name);
    expert_copies.insert({least, most});
    expert_cut |= !cut_dimensions(destination).empty();
    expert = name;
  }
  if (expert_copies.empty()) return;
  if (expert_copies.size() > 1) {
    list.add("no redundant experts",
             fmt::format("{} and {} copies", *expert_copies.begin(), *expert_copies.rbegin()),
             expert);
    return;
  }
  const std::size_t expert_parallel = ranks / std::max<std::size_t>(1, *expert_copies.begin());
  if (!expert_cut && expert_parallel > 1 && expert_parallel != tensor_parallel)
    list.add("an engine with ep 1 or ep = tp",
             fmt::format("ep {}, tp {}", expert_parallel, tensor_parallel), expert);
}

}  // namespace

std::vector<Unsupported> refuse_nemo_hybrid(const Job& job, const PlanningInput&,
                                            const StrategyChoice&) {
  RefusalList list;
  refuse_ranks(job, list);
  refuse_pipeline(job, list);
  refuse_engine_pipeline(job.problem, list);
  refuse_experts(job.problem, list);
  return list.take();
}

}  // namespace transload
