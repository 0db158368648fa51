// gather-broadcast: what NeMo RL, verl and slime do by default (facts in docs/strategies.md).
//
// Tensors are packed into buckets in the trainer's export order. For each bucket the trainers
// all-gather the full tensors (along the rails between NVLink domains, then along NVLink lines
// inside each), and one root broadcasts the bucket to every rank of the job; engines copy their
// part out of it. Two buckets are in flight. All collectives are lowered here into transfers with
// stream edges.
#pragma once

#include <optional>
#include <vector>

#include "planner/job/job.h"
#include "planner/schedule/plan_file.h"
#include "planner/strategy/buckets.h"
#include "planner/strategy/fabric.h"
#include "planner/strategy/gather_constants.h"
#include "planner/strategy/strategy.h"

namespace transload {

// The collectives of a job's tensors, or of some of them, as operations after those that the
// builder has; they wait for `gate`.
struct GatherBroadcastPart {
  TensorFilter packed;
  Discipline discipline = Discipline::kWindows;
  std::optional<std::int64_t> bucket_bytes;  // empty: the system's own size
  std::vector<OpId> gate;
};
// Returns the size of a bucket.
std::int64_t emit_gather_broadcast(PlanBuilder& builder, const Fabric& fabric, const Job& job,
                                   const GatherConstants& constants,
                                   const GatherBroadcastPart& part);

// Completes `header` (window, notes, assumptions) and seals the plan.
Plan plan_gather_broadcast(const Job& job, const PlanningInput& input,
                           const StrategyChoice& strategy, PlanHeader header);

}  // namespace transload
