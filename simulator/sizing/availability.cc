#include "simulator/sizing/availability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/schedule/access.h"

namespace transload {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool writes_weights(const Plan& plan, OpId op) {
  const OpKind kind = op_kind(plan, op);
  if (kind == OpKind::kHost) return op_role(plan, op) == OpRole::kLoad;
  return kind != OpKind::kFence && plan.op_destination_slot[op] == kNone;
}

std::vector<double> first_writes(const Plan& plan, const OpTimes& times) {
  std::vector<double> first(plan.ranks(), kNever);
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (!writes_weights(plan, op)) continue;
    double& at = first[static_cast<std::size_t>(plan.op_destination[op])];
    at = std::min(at, times.start_s[op]);
  }
  return first;
}

// The engines that are known, or every destination rank by itself.
std::vector<ReplicaTime> replicas_of(const Plan& plan, const SimulationResult& result,
                                     const ClusterFacts& facts) {
  std::vector<ReplicaTime> replicas;
  for (const RankSet& set : facts.replicas) replicas.push_back({set.name, set.ranks});
  if (!replicas.empty()) return replicas;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (!std::isnan(result.destination_ready_s[rank]))
      replicas.push_back({fmt::format("rank {}", rank), {static_cast<std::int32_t>(rank)}});
  return replicas;
}

double latest(const std::vector<double>& per_rank, const std::vector<std::int32_t>& ranks) {
  double time = 0;
  for (const std::int32_t rank : ranks)
    if (!std::isnan(per_rank[static_cast<std::size_t>(rank)]))
      time = std::max(time, per_rank[static_cast<std::size_t>(rank)]);
  return time;
}

}  // namespace

Availability availability(const Plan& plan, const SimulationResult& result,
                          const ClusterFacts& facts) {
  Availability found;
  for (const RankSet& set : facts.stages)
    found.stages.push_back({set.name, set.ranks, latest(result.source_free_s, set.ranks)});
  const std::vector<double> writes = first_writes(plan, result.times);
  found.replicas = replicas_of(plan, result, facts);
  std::vector<double> taken_s(plan.ranks(), 0);
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (!std::isnan(result.source_free_s[rank])) taken_s[rank] = result.source_free_s[rank];
  for (ReplicaTime& replica : found.replicas) {
    replica.ready_s = latest(result.destination_ready_s, replica.ranks);
    replica.paused_from_s = replica.ready_s;
    for (const std::int32_t rank : replica.ranks)
      replica.paused_from_s =
          std::min(replica.paused_from_s, writes[static_cast<std::size_t>(rank)]);
    found.pause_s = std::max(found.pause_s, replica.pause_s());
    for (const std::int32_t rank : replica.ranks) {
      const auto r = static_cast<std::size_t>(rank);
      // Colocated: neither side works until both are done.
      taken_s[r] = std::isnan(result.source_free_s[r]) ? replica.pause_s()
                                                       : std::max(taken_s[r], replica.ready_s);
    }
  }
  for (const double time : taken_s) found.gpu_s += time;
  return found;
}

}  // namespace transload
