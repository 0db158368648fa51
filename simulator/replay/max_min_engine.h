// Replays a plan on our own network of links (simulator/replay/max_min.h): the same model as
// SimGrid's, for plans that are too large for it.
#pragma once

#include "simulator/replay/replay.h"

namespace transload {

// Throws RunFailure where the plan stalls.
void replay_on_max_min(const Plan& plan, const OperationCosts& costs, const ReplayClock& clock,
                       ReplayRecord record);

}  // namespace transload
