// What NVLink alone serves: classes that a domain holds and other ranks of the domain want.
// Internal to the strategy `transload`.
//
// The holders' NVLink ports share the copies evenly. Where that would keep them busy beyond the
// goal, and beyond what receivers need to take everything in, part of the copies is left to the
// receivers: one of them gets the bytes from a holder and hands them to the others. How much is one
// more min-max assignment: the first copy of every byte leaves a holder, further copies may leave
// holders or receivers.
#pragma once

#include <cstdint>

#include "planner/strategy/transload/deliveries.h"
#include "planner/strategy/transload/lines.h"

namespace transload {

// Appends routes for all of `deliveries.inside`. What `set` already puts on NVLink counts.
void serve_inside(RouteSet& set, const Deliveries& deliveries, const Demand& demand,
                  const Fabric& fabric, const ClassCuts& cuts, std::int64_t tolerance,
                  std::int64_t goal_ps);

}  // namespace transload
