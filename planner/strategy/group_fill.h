// Issue groups by filling them port by port. Internal to planner/strategy.
//
// A group has the time of G chunks at every port. In list order every transfer goes to the first
// group with room at both its ports, and a forward to none before the group after its landing's. So
// all ports are about equally busy in every group, whatever the sizes of their chunks: G colours of
// an edge colouring would do the same where all chunks are of one size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/strategy/hops.h"

namespace transload {

// Sets the group of every hop; `hops` in list order, landings before their forwards. `group_ps`:
// time that a group has at each port, at `rates` (bytes/s by port). NVLink forwards need no room:
// they are issued in the group after their landing's. What streams goes
// into the group of what it streams from.
void fill_groups(std::vector<Hop>& hops, const std::vector<Chunk>& chunks, const Fabric& fabric,
                 std::span<const std::int64_t> rates, std::int64_t group_ps);

}  // namespace transload
