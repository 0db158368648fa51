#include "cli/job_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "topologies/efficiency_ranges.h"

namespace transload {
namespace {

// The engines' names as the job's text has them.
struct EngineNames {
  std::string source;
  std::vector<std::string> pools;
};

std::string engine_of(const YamlValue& side) {
  if (!side.is_map()) return "";
  YamlMap map = side.map();
  const auto engine = map.optional("engine");
  return engine && engine->is_scalar() ? engine->text() : "";
}

EngineNames engine_names(const Job& job) {
  EngineNames names;
  const YamlValue root = YamlValue::from_text(job.text, job.name);
  if (!root.is_map()) return names;
  YamlMap map = root.map();
  if (const auto source = map.optional("source")) names.source = engine_of(*source);
  if (const auto pools = map.optional("destination")) {
    if (pools->is_list())
      for (const YamlValue& pool : pools->list()) names.pools.push_back(engine_of(pool));
    else
      names.pools.push_back(engine_of(*pools));
  }
  return names;
}

// Engines that lost a rank want nothing any more and are none.
void add_replicas(const Job& job, const SidePlacement& pool, const std::string& engine,
                  std::vector<RankSet>& replicas) {
  const std::vector<Rank>& wanting = job.problem.destination_ranks;
  const std::size_t size = pool.engine_ranks > 0 ? static_cast<std::size_t>(pool.engine_ranks)
                                                 : std::max<std::size_t>(1, pool.ranks.size());
  for (std::size_t first = 0; first < pool.ranks.size(); first += size) {
    const auto begin = pool.ranks.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end =
        pool.ranks.begin() + static_cast<std::ptrdiff_t>(std::min(first + size, pool.ranks.size()));
    if (std::any_of(begin, end, [&](Rank rank) {
          return std::binary_search(wanting.begin(), wanting.end(), rank);
        }))
      replicas.push_back({fmt::format("{} replica {}", pool.field, first / size), engine,
                          std::vector<std::int32_t>(begin, end)});
  }
}

std::vector<RankSet> stages_of(const Job& job, const std::string& engine) {
  std::map<std::int32_t, std::vector<std::int32_t>> ranks;
  for (const RankGroups& entry : job.source_groups) ranks[entry.stage].push_back(entry.rank);
  std::vector<RankSet> stages;
  if (ranks.size() < 2) return stages;
  for (auto& [stage, members] : ranks)
    stages.push_back({fmt::format("stage {}", stage), engine, std::move(members)});
  return stages;
}

std::vector<LinkRange> ranges_of(const Topology& topology, double background) {
  const std::int64_t left = kPpm - std::llround(background * kPpm);
  std::vector<LinkRange> ranges;
  for (const EfficiencyRange& range : efficiency_ranges(topology))
    for (const LinkFamily family : {LinkFamily::kNic, LinkFamily::kNvlink, LinkFamily::kCopy}) {
      if (range.kind != name_of(family)) continue;
      const std::int64_t share = family == LinkFamily::kNic ? left : kPpm;
      const auto scaled = [&](std::int64_t ppm) {
        return std::max<std::int64_t>(1, ppm * share / kPpm);
      };
      ranges.push_back(
          {family, scaled(range.low_ppm), scaled(range.likely_ppm), scaled(range.high_ppm)});
    }
  return ranges;
}

}  // namespace

ClusterFacts facts_of(const Job& job, double background) {
  ClusterFacts facts;
  facts.ranges = ranges_of(job.topology, background);
  if (job.model_parameters == 0) return facts;
  const EngineNames names = engine_names(job);
  facts.stages = stages_of(job, names.source);
  // The source is the first side.
  for (std::size_t side = 1; side < job.sides.size(); ++side)
    add_replicas(job, job.sides[side], side <= names.pools.size() ? names.pools[side - 1] : "",
                 facts.replicas);
  return facts;
}

ClusterFacts facts_of(const Subject& subject, double background) {
  if (subject.job) return facts_of(*subject.job, background);
  const PlanHeader& header = subject.plan->header();
  try {
    const Job job = job_from_text(header.job_text, header.job_name, "");
    // A library that has changed since could describe another cluster.
    if (job.topology.gpus.size() != subject.plan->ranks()) return {};
    return facts_of(job, background);
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace transload
