// Quick estimates of a plan's refit time, without SimGrid.
#pragma once

#include <cstddef>

#include "planner/schedule/plan_file.h"

namespace transload {

// Seconds: the most loaded link (bytes over achieved rate) or lane (launches one after the other)
// plus the fill of the pipeline around it (the shortest way to its first operation and from its
// last, one operation per hop), or the longest chain of operations if that is longer; stretches
// between fences add up. docs/simulator.md has the formula; it neglects how operations share ports
// in time.
double closed_form_seconds(const Plan& plan);

// Plans of more operations are estimated in closed form: a replay takes a second per 100,000.
inline constexpr std::size_t kMostEstimatedOperations = 60'000;

// Seconds, within 3 % of what the simulator says: a replay on our own engine in this process up to
// `kMostEstimatedOperations`, else the closed form, which is optimistic where ports wait for each
// other. A plan that stalls is estimated in closed form.
double estimate_seconds(const Plan& plan);

}  // namespace transload
