// nemo-hybrid: NeMo RL's nccl_reshard transport (facts in docs/strategies.md).
//
// Feed-forward weights ("bulk", 67 to 98 % of a model) go shard to shard; everything else is
// gathered and broadcast as in `gather-broadcast`, after the bulk is done: two communicators at
// once would deadlock. What is granted to it here: the pipeline stages' calls all overlap (it keeps
// two in flight), and a call's all-gather overlaps its transfers.
#pragma once

#include "planner/strategy/registry.h"

namespace transload {

// Disjoint ranks; a Megatron trainer with whole experts and an even pipeline but for its ends; an
// engine with one pipeline stage, ep 1 or tp, no redundant experts.
std::vector<Unsupported> refuse_nemo_hybrid(const Job& job, const PlanningInput& input,
                                            const StrategyChoice& strategy);

Plan plan_nemo_hybrid(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                      PlanHeader header);

}  // namespace transload
