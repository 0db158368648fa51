// One global order in which every route advances evenly from the first moment to the last.
// Internal to planner/strategy.
//
// Where bytes are landed, handed to a hub and handed on by ports that are all full, list scheduling
// (list_order.h), which takes what is ready, lets the later hops starve one another. The order here
// follows the proof that the loads of the ports can be met at all: run every flow at a constant
// rate for the whole time. The k-th of a flow's n chunks stands at k / n of the time, and a forward
// so much behind its landing as a full window of transfers takes, so that it has landed when its
// turn comes (docs/ordering.md). Integers only.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/hops.h"

namespace transload {

// `hops`: parents before children, the hops of a chunk together, `id` their place. `window`:
// transfers that a port has in flight. The makespan is that of the busiest port and, behind it, of
// the longest chain of forwards.
OrderedHops even_order(const std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                       const Fabric& fabric, std::uint32_t window);

}  // namespace transload
