#include "simulator/validation/replay.h"

#include <algorithm>

#include "common/error.h"
#include "planner/job/job.h"
#include "planner/schedule/access.h"
#include "planner/strategy/strategy.h"
#include "simulator/estimate.h"
#include "simulator/simulate.h"

namespace transload {
namespace {

// What every destination rank must get over one NIC at line rate.
double naive_seconds(const Job& job, const HostWork& work) {
  const Rank rank = job.problem.destination_ranks.front();
  double rate = 0;
  for (const std::int32_t nic : job.topology.gpus[static_cast<std::size_t>(rank)].nics)
    rate += static_cast<double>(job.topology.nics[static_cast<std::size_t>(nic)].rate);
  return rate > 0 ? work[WorkUnit::kLandedByte] / rate : 0;
}

}  // namespace

Replay replay_measurement(const RowJobMaker& maker, const Measurement& row,
                          const ReplayOptions& options) {
  Replay replay;
  replay.id = row.id;
  const RowJob row_job = maker.make(row);
  replay.missing = row_job.missing;
  replay.assumed = row_job.assumed;
  replay.strategy = row_job.strategy;
  replay.framework = row_job.framework;
  if (!replay.missing.empty()) return replay;
  try {
    const Job job = job_from_text(row_job.job_text, row.id, "");
    const Plan plan = make_plan(job);
    replay.work = host_work(plan);
    replay.bound_s = plan.header().bound_s;
    replay.naive_s = naive_seconds(job, replay.work);
    replay.simulated = plan.operations() <= options.most_simulated_operations;
    replay.transport_s = replay.simulated ? simulate(plan).refit_s : estimate_seconds(plan);
  } catch (const InputError& error) {
    replay.missing = error.what();
  }
  return replay;
}

}  // namespace transload
