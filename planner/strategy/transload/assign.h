// The strategy `transload`: one copy of every byte per NVLink domain, through the ports that have
// room, so that no port is loaded beyond what the whole job needs (docs/strategies.md).
#pragma once

#include <cstdint>

#include "planner/strategy/transload/port_shares.h"

namespace transload {

struct TransloadOptions {
  MayHelp may_help;          // by rank
  std::int64_t goal_ps = 0;  // the bound of the job: what the most loaded port aims at
  // Sources and forwarding ports are left this much room, per mille of the goal, where copies must
  // be relayed at all; 0: no relays, every domain's copy comes straight from a holder.
  std::int64_t relay_use = kRelayUse;
  // Any NIC of the job reaches any other, and a rank may have any number of peers.
  bool any_course = true;
};

RouteSet assign_balanced(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
                         const TransloadOptions& options);

}  // namespace transload
