#include "cli/rolling.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "cli/table.h"
#include "common/units.h"
#include "planner/job/restrict.h"
#include "simulator/sizing/availability.h"

namespace transload {
namespace {

// A wave whose simulation runs in a process of its own.
struct Running {
  Running(std::size_t wave_number, std::vector<RankSet> of_wave, Plan the_plan,
          const SimulateOptions& options)
      : wave(wave_number),
        replicas(std::move(of_wave)),
        plan(std::move(the_plan)),
        simulation(plan, options) {}
  std::size_t wave;
  std::vector<RankSet> replicas;
  Plan plan;
  Simulation simulation;
};

}  // namespace

RollingRefit rolling_refit(const Job& job, const std::vector<RankSet>& replicas,
                           const StrategyChoice& strategy, Discipline discipline,
                           std::int64_t at_a_time, const ConditionFlags& flags,
                           const SimulateOptions& options, Progress& progress) {
  if (at_a_time < 1) throw InputError("--rolling: expected at least one replica at a time");
  if (replicas.empty())
    throw InputError("--rolling: the job has no engines; expected a whole-model job");
  RollingRefit rolling;
  rolling.replicas = replicas.size();
  rolling.at_a_time = std::min(static_cast<std::size_t>(at_a_time), replicas.size());
  rolling.waves.resize((replicas.size() + rolling.at_a_time - 1) / rolling.at_a_time);

  std::deque<std::unique_ptr<Running>> running;
  const auto finish_oldest = [&] {
    const std::unique_ptr<Running> done = std::move(running.front());
    running.pop_front();
    const SimulationResult result = done->simulation.finish();
    RollingWave& wave = rolling.waves[done->wave];
    wave.refit_s = result.refit_s;
    ClusterFacts facts;
    facts.replicas = done->replicas;
    const Availability found = availability(done->plan, result, facts);
    wave.pause_s = found.pause_s;
    for (const ReplicaTime& replica : found.replicas) rolling.replica_pause_s += replica.pause_s();
  };
  const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1u, 2u);
  for (std::size_t number = 0; number < rolling.waves.size(); ++number) {
    progress.show(fmt::format("rolling refit: wave {} of {}", number + 1, rolling.waves.size()));
    RollingWave& wave = rolling.waves[number];
    std::vector<Rank> ranks;
    std::vector<RankSet> of_wave;
    const std::size_t end = std::min((number + 1) * rolling.at_a_time, replicas.size());
    for (std::size_t i = number * rolling.at_a_time; i < end; ++i) {
      wave.replicas.push_back(replicas[i].name);
      of_wave.push_back(replicas[i]);
      ranks.insert(ranks.end(), replicas[i].ranks.begin(), replicas[i].ranks.end());
    }
    std::sort(ranks.begin(), ranks.end());
    const Job part = only_destinations(job, ranks);
    Plan plan = with_source_memory(make_plan(part, prepare(part), strategy, discipline),
                                   part.topology, flags);
    wave.bound_s = plan.header().bound_s;
    if (running.size() == most) finish_oldest();
    running.push_back(
        std::make_unique<Running>(number, std::move(of_wave), std::move(plan), options));
  }
  while (!running.empty()) finish_oldest();
  for (const RollingWave& wave : rolling.waves) {
    rolling.total_s += wave.refit_s;
    rolling.pause_s = std::max(rolling.pause_s, wave.pause_s);
  }
  return rolling;
}

nlohmann::json rolling_json(const RollingRefit& rolling) {
  nlohmann::json waves = nlohmann::json::array();
  for (const RollingWave& wave : rolling.waves)
    waves.push_back({{"replicas", wave.replicas},
                     {"refit_s", wave.refit_s},
                     {"bound_s", wave.bound_s},
                     {"pause_s", wave.pause_s}});
  return {{"at_a_time", rolling.at_a_time}, {"replicas", rolling.replicas},
          {"waves", std::move(waves)},      {"total_s", rolling.total_s},
          {"pause_s", rolling.pause_s},     {"replica_pause_s", rolling.replica_pause_s}};
}

std::string rolling_text(const RollingRefit& rolling) {
  Facts facts;
  facts.add(
      "all replicas done",
      fmt::format("after {} in {} waves", format_seconds(rolling.total_s), rolling.waves.size()));
  facts.add("longest pause", format_seconds(rolling.pause_s));
  facts.add("serving meanwhile",
            fmt::format("{} of {} replicas at least", rolling.replicas - rolling.at_a_time,
                        rolling.replicas));
  facts.add("pauses together",
            fmt::format("{} of one replica", format_seconds(rolling.replica_pause_s)));
  return fmt::format("rolling refit, {} of {} replicas at a time (simulated)\n", rolling.at_a_time,
                     rolling.replicas) +
         facts.text();
}

}  // namespace transload
