// checkpoint-engine: Moonshot's parameter server (facts in docs/strategies.md).
//
// Whole tensors lie in the host memory of their owners, packed into buckets. In rounds, every owner
// copies its next bucket to its GPU; then the buckets of the round are broadcast one after the
// other to all engines. While bucket g travels, the engines reload bucket g-1: two buffers, and a
// barrier after every bucket. Its P2P mode replaces the copy from the own host by a read from the
// owner's host memory, spread over the engines' NICs, so that the owners take no part.
//
// The host memory is the source's shard memory here: its transfer to the GPU costs host time at the
// published rate. The trainer's own copy to its host is not in the published figures either.
#pragma once

#include "planner/strategy/registry.h"

namespace transload {

// Whole tensors on some source rank; the largest one fits half of the free memory.
std::vector<Unsupported> refuse_checkpoint_engine(const Job& job, const PlanningInput& input,
                                                  const StrategyChoice& strategy);

// Modes: broadcast (default) | p2p.
Plan plan_checkpoint_engine(const Job& job, const PlanningInput& input,
                            const StrategyChoice& strategy, PlanHeader header);

}  // namespace transload
