// options.max_peers: with how many other ranks one rank exchanges bytes over the network. Internal
// to the strategy `transload`.
//
// Every pair of ranks that talk over the network needs a connection (a queue pair), and set-up
// time and NIC memory grow with their number. Domains that exchange bytes are joined by a few
// *pairs* of ranks, and NVLink brings the bytes to and from these; the pairs of a domain are spread
// over its ranks, so that its NICs stay evenly used.
#pragma once

#include "planner/strategy/transload/assign.h"
#include "topologies/topology.h"

namespace transload {

// The same bytes into the same domains, over connections of which no rank has more than
// `max_peers`; unchanged where that holds already.
//
// Fewest connections are tried in this order: the domains that exchange bytes now; as few source
// domains for each destination domain as hold what it wants (greedy set cover); the same without
// relays. InputError with the least number of peers found where none of these is enough. It is the
// least for these graphs of domains up to what greedy choice loses; longer chains of relays, which
// would need fewer still, are not tried.
RouteSet limit_peers(RouteSet routes, const ReshardProblem& problem, const Demand& demand,
                     const Topology& topology, const Fabric& fabric,
                     const TransloadOptions& options, std::int64_t max_peers);

}  // namespace transload
