// awex: inclusionAI's Awex (facts in docs/strategies.md).
//
// Inference replica i of a part reads it from training replica i mod n, by number and not by load;
// the boxes of the two are intersected and every overlap is one send and one receive. It takes any
// boxes, uneven ones included, so it refuses nothing that is a job here.
#pragma once

#include "planner/strategy/registry.h"

namespace transload {

RouteSet assign_awex(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                     const Fabric& fabric);

Plan plan_awex(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
               PlanHeader header);

}  // namespace transload
