// The closed-form estimate of a plan's refit time, in milliseconds of work and without SimGrid.
#pragma once

#include "planner/schedule/plan_file.h"

namespace transload {

// Seconds: the most loaded link (bytes over achieved rate) or lane (launches one after the other)
// plus the fill of the pipeline around it (the shortest way to its first operation and from its
// last, one operation per hop), or the longest chain of operations if that is longer; stretches
// between fences add up. docs/simulator.md has the
// formula; it neglects how operations share
// ports in time.
double estimate_seconds(const Plan& plan);

}  // namespace transload
