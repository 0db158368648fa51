// Other courses where NVLink or a NIC would be busy beyond the goal. Internal to the strategy
// `transload`.
//
// Shares, relays and what is served inside domains are chosen one after the other, each as if the
// others were none of its business. That is exact where the network is the bottleneck. Where NVLink
// is, it is not: what landed is handed on by ports that are full of what the domain holds itself,
// holders send all copies alone, NICs stand idle. Here all of it is weighed together (even_out.h).
#pragma once

#include <cstdint>

#include "planner/strategy/transload/deliveries.h"
#include "planner/strategy/transload/lines.h"
#include "planner/strategy/transload/port_shares.h"

namespace transload {

struct ReliefInput {
  const ReshardProblem& problem;
  const Demand& demand;
  const Fabric& fabric;
  const Deliveries& deliveries;
  const MayHelp& may_help;
  const ClassCuts& cuts;
  std::int64_t tolerance = 0;  // bytes by which a cut may miss its place
  std::int64_t goal_ps = 0;
};

// `network`: routes of everything that no domain of receivers holds; `served`: the same and, behind
// them, routes over NVLink of what domains hold. Returns `served`, or routes for the same bytes
// whose busiest port has less to do.
RouteSet relieve(const RouteSet& network, RouteSet served, const ReliefInput& input);

}  // namespace transload
