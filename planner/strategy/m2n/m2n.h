// NVIDIA's NCCL M2N ("Reshard") as a strategy: its plans, its limits, one tensor per communicator
// in flight, and its two transports PACK and DIRECT.
//
// The domains are those of the cluster. (NVIDIA's library guesses them from rank numbers, so that
// its domains can be smaller than the real ones, never larger.) docs/strategies.md has the story.
#pragma once

#include <vector>

#include "planner/strategy/m2n/balance.h"
#include "planner/strategy/strategy.h"

namespace transload {

// The words that jobs write (planner/job/options.cc): "default" (or nothing), "parent-node-aware",
// "parent-uniform", "direct".
M2nMode m2n_mode(std::string_view name);

std::vector<Unsupported> refuse_m2n(const Job& job, const PlanningInput& input,
                                    const StrategyChoice& strategy);

Plan plan_m2n(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
              PlanHeader header);

}  // namespace transload
