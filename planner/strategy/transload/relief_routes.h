// Courses put together to routes again. Internal to the strategy `transload`: the second half of
// relieve.h.
#pragma once

#include "planner/strategy/transload/relief_groups.h"

namespace transload {

// Routes for the bytes of `network` and of what domains hold, by the courses in `groups`. Routes of
// groups that have not changed stay as they are, but for their parents.
RouteSet routes_of(const ReliefGroups& groups, const RouteSet& network, const ReliefInput& input);

}  // namespace transload
