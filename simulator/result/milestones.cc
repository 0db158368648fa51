#include "simulator/result/milestones.h"

#include <algorithm>
#include <limits>

#include "planner/schedule/access.h"

namespace transload {
namespace {

constexpr int kRoles = static_cast<int>(OpRole::kConvert) + 1;
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

std::vector<double> zero_where_shards(const Plan& plan, Side side) {
  std::vector<double> times(plan.ranks(), kNotANumber);
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    for (std::uint64_t i = plan.rank_shard_first[rank]; i < plan.rank_shard_first[rank + 1]; ++i)
      if (static_cast<Side>(plan.shard_side[i]) == side) times[rank] = 0;
  return times;
}

void raise(std::vector<double>& times, std::int32_t rank, double time_s) {
  double& time = times[static_cast<std::size_t>(rank)];
  if (!(time >= time_s)) time = time_s;  // also from NaN
}

bool is_host_work(const Plan& plan, OpId op, OpRole role) {
  return op_kind(plan, op) == OpKind::kHost && op_role(plan, op) == role;
}

}  // namespace

std::vector<PhaseTime> phase_times(const Plan& plan, const OpTimes& times,
                                   const std::vector<OpId>& critical_path) {
  std::vector<PhaseTime> all(kRoles);
  for (OpId op = 0; op < plan.operations(); ++op) {
    PhaseTime& phase = all[static_cast<std::size_t>(op_role(plan, op))];
    phase.start_s =
        phase.operations == 0 ? times.start_s[op] : std::min(phase.start_s, times.start_s[op]);
    phase.finish_s = std::max(phase.finish_s, times.finish_s[op]);
    if (moves_bytes(plan, op)) phase.bytes += plan.op_bytes[op];
    ++phase.operations;
  }
  double until_s = 0;
  for (const OpId op : critical_path) {
    all[static_cast<std::size_t>(op_role(plan, op))].critical_s +=
        std::max(0.0, times.finish_s[op] - until_s);
    until_s = std::max(until_s, times.finish_s[op]);
  }
  std::vector<PhaseTime> phases;
  for (int role = 0; role < kRoles; ++role) {
    PhaseTime& phase = all[static_cast<std::size_t>(role)];
    if (phase.operations == 0) continue;
    phase.name = name_of(static_cast<OpRole>(role));
    phases.push_back(std::move(phase));
  }
  return phases;
}

std::vector<double> source_free(const Plan& plan, const OpTimes& times) {
  std::vector<double> free = zero_where_shards(plan, Side::kSource);
  for (OpId op = 0; op < plan.operations(); ++op)
    if ((moves_bytes(plan, op) && plan.op_source_slot[op] == kNone && !reads_arrived(plan, op)) ||
        is_host_work(plan, op, OpRole::kExport))
      raise(free, plan.op_source[op], times.finish_s[op]);
  return free;
}

std::vector<double> destination_ready(const Plan& plan, const OpTimes& times) {
  std::vector<double> ready = zero_where_shards(plan, Side::kDestination);
  for (OpId op = 0; op < plan.operations(); ++op)
    if ((moves_bytes(plan, op) && plan.op_destination_slot[op] == kNone) ||
        is_host_work(plan, op, OpRole::kLoad))
      raise(ready, plan.op_destination[op], times.finish_s[op]);
  return ready;
}

}  // namespace transload
