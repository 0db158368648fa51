// Replays a plan on SimGrid: one communication per operation, on the platform of the plan.
#pragma once

#include "simulator/replay/replay.h"

namespace transload {

// Once per process: a second SimGrid engine aborts. Throws RunFailure where the plan stalls.
void replay_on_simgrid(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
                       ReplayRecord record);

}  // namespace transload
