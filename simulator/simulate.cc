#include "simulator/simulate.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "simulator/estimate.h"
#include "simulator/platform/platform.h"
#include "simulator/replay/child_process.h"
#include "simulator/replay/precision.h"
#include "simulator/result/critical_path.h"
#include "simulator/result/milestones.h"
#include "simulator/result/usage.h"

namespace transload {
namespace {

// The record's columns, one behind the other: four of double, then one of OpId.
constexpr std::size_t kTimeColumns = 4;

ReplayRecord record_in(const SharedMemory& memory, std::size_t n) {
  const auto times = [&](std::size_t column) {
    return memory.at<double>(column * n * sizeof(double), n);
  };
  return {times(0), times(1), times(2), times(3),
          memory.at<OpId>(kTimeColumns * n * sizeof(double), n)};
}

OpTimes times_of(const ReplayRecord& record) {
  OpTimes times;
  times.posted_source_s.assign(record.posted_source_s.begin(), record.posted_source_s.end());
  times.posted_destination_s.assign(record.posted_destination_s.begin(),
                                    record.posted_destination_s.end());
  times.start_s.assign(record.start_s.begin(), record.start_s.end());
  times.finish_s.assign(record.finish_s.begin(), record.finish_s.end());
  return times;
}

// Operations of the critical path that began when the one before them ended: each may have ended
// early.
double sequential_operations(const OpTimes& times, const std::vector<OpId>& path) {
  double operations = path.empty() ? 0 : 1;
  for (std::size_t i = 1; i < path.size(); ++i)
    if (times.finish_s[path[i - 1]] <= times.start_s[path[i]]) ++operations;
  return operations;
}

ReplayEngine engine_for(const Plan& plan, const SimulateOptions& options) {
  if (options.engine) return *options.engine;
  return plan.operations() > kSimGridOperations ? ReplayEngine::kMaxMin : ReplayEngine::kSimGrid;
}

}  // namespace

struct Simulation::Run {
  Run(const Plan& the_plan, const SimulateOptions& options)
      : plan(the_plan),
        costs(operation_costs(plan)),
        memory(plan.operations() * (kTimeColumns * sizeof(double) + sizeof(OpId))),
        record(record_in(memory, plan.operations())) {
    result.estimate_s = estimate_seconds(plan);
    result.precision_s = replay_precision_s(plan, costs, closed_form_seconds(plan), options.exact,
                                            options.coarse_share);
    const ReplayClock clock{result.precision_s, options.exact ? 0 : result.precision_s};
    result.engine = engine_for(plan, options);
    child.emplace("simulation",
                  [this, clock] { replay(plan, costs, clock, result.engine, record); });
  }

  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  const Plan& plan;
  OperationCosts costs;
  SharedMemory memory;
  ReplayRecord record;
  SimulationResult result;
  std::optional<ChildProcess> child;
};

Simulation::Simulation(const Plan& plan, const SimulateOptions& options) {
  link_duties(plan);  // refuses impossible links here, not in the child
  run_ = std::make_unique<Run>(plan, options);
}

Simulation::~Simulation() = default;

SimulationResult Simulation::finish() {
  run_->child->wait();
  const Plan& plan = run_->plan;
  SimulationResult result = std::move(run_->result);
  result.times = times_of(run_->record);
  result.critical_path = critical_path(result.times, run_->record.released_by);
  if (plan.operations() > 0) result.refit_s = result.times.finish_s[result.critical_path.back()];
  if (result.refit_s > 0)
    result.bias_bound = 2 * result.precision_s *
                        sequential_operations(result.times, result.critical_path) / result.refit_s;
  result.source_free_s = source_free(plan, result.times);
  result.destination_ready_s = destination_ready(plan, result.times);
  result.phases = phase_times(plan, result.times, result.critical_path);
  result.links = link_use(plan, run_->costs, result.refit_s);
  result.bottleneck = bottleneck(plan, run_->costs, result.refit_s);
  result.simulate_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - run_->begin).count();
  return result;
}

SimulationResult simulate(const Plan& plan, const SimulateOptions& options) {
  return Simulation(plan, options).finish();
}

}  // namespace transload
