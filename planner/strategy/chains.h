// Chains of domains: the routes of the strategy `transload` where sources are short and chunks are
// forwarded while they land. Internal to planner/strategy.
//
// What leaves a holder lands in one domain, streams on from there to the next, and so through all
// domains that want it. No domain forwards more than it lands, and a source sends every byte once:
// where ports are as fast out as in, that is as good as any relaying, each port has one peer in
// front and one behind, and nothing waits for anything but the first piece. What it costs is a
// latency per domain of the chain, so a class has as many chains side by side as its holders have
// room for.
#pragma once

#include "planner/strategy/transload/assign.h"

namespace transload {

// `options.relay_use` is not used. Who lands what inside a domain is as in `assign_balanced`.
RouteSet assign_chains(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
                       const TransloadOptions& options);

}  // namespace transload
