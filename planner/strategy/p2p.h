// p2p: Perplexity's weight transfer (facts in docs/strategies.md).
//
// In `direct` mode every receiver gets its own copy of every tensor straight from the holder with
// the fewest bytes assigned so far (assign_p2p in planner/strategy/routes.h). `full-tensor` mode is
// the published pipeline of an FSDP trainer: the ranks of a mesh all-gather their tensors task by
// task, then the rank with the fewest bytes writes each receiver's part out of its gathered copy.
// The watermark bounds the tasks in flight. Meshes on disjoint ranks are a mesh group and run
// beside each other; mesh groups follow one another, with a barrier behind the last gather of each.
// Tensors that the receivers store in another type are quantised out of the gathered copy (direct
// mode: out of the holder's shards), so that the narrower type is on the wire. Fusing is part of
// the task: its tensors lie in one bucket. The copy from an offloaded shard is left out.
#pragma once

#include "planner/strategy/registry.h"

namespace transload {

// Modes: direct (default) | full-tensor.
Plan plan_p2p(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
              PlanHeader header);

}  // namespace transload
