// megatron: Megatron-core's resharding planner (facts in docs/strategies.md).
//
// For every parameter of every destination rank it picks one source rank, and with it that rank's
// tensor-parallel group: destination ranks take the source's data-parallel groups in turn, and the
// ranks of the group in turn after that; where all candidates are in one data-parallel group, the
// first candidate serves everybody. The parameter is then cut in lcm(source parts, destination
// parts) equal pieces along its one sharded dimension, each from the rank of the group that holds
// it.
#pragma once

#include "planner/strategy/registry.h"

namespace transload {

// One sharded dimension per side, the same on both, of the same padded length, in equal parts (so
// that the lcm divides it); every part of a tensor held equally often.
std::vector<Unsupported> refuse_megatron(const Job& job, const PlanningInput& input,
                                         const StrategyChoice& strategy);

RouteSet assign_megatron(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                         const Fabric& fabric);

Plan plan_megatron(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                   PlanHeader header);

}  // namespace transload
