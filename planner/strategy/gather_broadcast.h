// gather-broadcast: what NeMo RL, verl and slime do by default (facts in docs/strategies.md).
//
// Tensors are packed into buckets in the trainer's export order. For each bucket the trainers
// all-gather the full tensors (along the rails between NVLink domains, then along NVLink lines
// inside each), and one root broadcasts the bucket to every rank of the job; engines copy their
// part out of it. Two buckets are in flight. All collectives are lowered here into transfers with
// stream edges.
#pragma once

#include "planner/job/job.h"
#include "planner/schedule/plan_file.h"
#include "planner/strategy/strategy.h"

namespace transload {

// Completes `header` (window, notes, assumptions) and seals the plan.
Plan plan_gather_broadcast(const Job& job, const PlanningInput& input,
                           const StrategyChoice& strategy, PlanHeader header);

}  // namespace transload
