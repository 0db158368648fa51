// How long a coloured order of hops takes under issue groups, without simulating it. Internal to
// planner/strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/hops.h"

namespace transload {

// Picoseconds until the last hop has ended: a rank issues a group when it is through with the one
// before, a transfer starts when both its ranks have issued it, and it ends when the busier of its
// two ports has carried all that it carries of the group, and not before `network_overhead_ps` of
// the fabric has passed. Ports are shared fairly in truth, so that ranks of little work are through
// earlier or later than here; compared are whole schedules. `hops` sorted by group.
std::int64_t group_makespan_ps(const std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                               const Fabric& fabric);

}  // namespace transload
