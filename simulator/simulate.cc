#include "simulator/simulate.h"

#include <algorithm>
#include <chrono>

#include "simulator/estimate.h"
#include "simulator/platform/platform.h"
#include "simulator/replay/child_process.h"
#include "simulator/replay/precision.h"
#include "simulator/replay/replay.h"
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

}  // namespace

SimulationResult simulate(const Plan& plan, const SimulateOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  link_duties(plan);  // refuses impossible links here, not in the child
  const std::size_t n = plan.operations();
  const OperationCosts costs = operation_costs(plan);
  SimulationResult result;
  result.estimate_s = estimate_seconds(plan);
  result.precision_s =
      replay_precision_s(plan, costs, result.estimate_s, options.exact, options.coarse_share);

  const SharedMemory memory(n * (kTimeColumns * sizeof(double) + sizeof(OpId)));
  const ReplayRecord record = record_in(memory, n);
  const ReplayClock clock{result.precision_s, options.exact ? 0 : result.precision_s};
  run_in_child("simulation", [&] { replay(plan, costs, clock, record); });

  result.times = times_of(record);
  result.critical_path = critical_path(result.times, record.released_by);
  if (n > 0) result.refit_s = result.times.finish_s[result.critical_path.back()];
  if (result.refit_s > 0)
    result.bias_bound = 2 * result.precision_s *
                        sequential_operations(result.times, result.critical_path) / result.refit_s;
  result.source_free_s = source_free(plan, result.times);
  result.destination_ready_s = destination_ready(plan, result.times);
  result.phases = phase_times(plan, result.times);
  result.links = link_use(plan, costs, result.refit_s);
  result.bottleneck = bottleneck(plan, costs, result.refit_s);
  result.simulate_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace transload
