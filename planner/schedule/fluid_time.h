// How long a plan takes, without simulating it: the planner's own clock.
//
// The operations of the plan are replayed under the issue rule (planner/schedule/issue.h) with the
// costs that the simulator charges: launches on lanes, latency, links shared max-min fairly. What
// the planner must not use is the simulator itself (it knows the plan, not the other way round) and
// floating point (every machine must choose the same schedule). Ends of operations that lie close
// together are one event, so that 20,000 transfers take a fraction of a second; on average that
// shifts nothing, and single operations by less than a hundredth of the time they are in flight.
#pragma once

#include <cstdint>

#include "planner/schedule/plan_file.h"

namespace transload {

// Picoseconds until the last operation has ended. Stops at `limit_ps` and returns that where the
// plan takes longer: enough to know that another is better. `kNeverEnds` for a plan that stalls.
inline constexpr std::int64_t kNeverEnds = INT64_MAX;
std::int64_t fluid_time_ps(const Plan& plan, std::int64_t limit_ps = kNeverEnds);

}  // namespace transload
