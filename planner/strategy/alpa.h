// alpa: Alpa's cross-mesh resharding (facts in docs/strategies.md).
//
// Every overlap of a source tile and a destination tile is one piece of work. Its sender is the
// replica whose host has sent least so far; its receivers are all replicas of the destination tile.
// In `broadcast` mode the sender and all receivers are one chunked broadcast, from host to host and
// inside each; in `send-recv` mode every receiver gets a copy of its own.
#pragma once

#include "planner/strategy/registry.h"

namespace transload {

// Even tiles only.
std::vector<Unsupported> refuse_alpa(const Job& job, const PlanningInput& input,
                                     const StrategyChoice& strategy);

RouteSet assign_alpa(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                     const Fabric& fabric);

// Modes: broadcast (default) | send-recv.
Plan plan_alpa(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
               PlanHeader header);

}  // namespace transload
