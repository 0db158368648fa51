// Which bytes are scattered over destination domains and exchanged between them instead of leaving
// the source once per domain. Internal to the strategy `transload`.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/transload/lines.h"
#include "planner/strategy/transload/port_shares.h"

namespace transload {

// Bytes [0, class's scattered) of a class land first in one domain each, its *primary* domain, and
// are forwarded from there to the others that want them; the rest goes straight to all.
struct Relays {
  std::vector<std::int64_t> scattered;  // by class
  // By network delivery: the range of which its domain is the primary one; empty for most.
  std::vector<std::int64_t> primary_begin;
  std::vector<std::int64_t> primary_end;
};

// Scatters as much of each holder set's classes as brings its load down to the goal, the same share
// of every class that is worth cutting, over domains in proportion to what their NICs have to spare
// for forwarding; where the parts would be small, over the domains that forward least so far.
// `landing`: as from landing_shares.
Relays choose_relays(const ReshardProblem& problem, const Deliveries& deliveries,
                     const Demand& demand, const Fabric& fabric, const SourceShares& source,
                     const std::vector<std::vector<PortShare>>& landing, const ClassCuts& cuts,
                     std::int64_t goal_ps, std::int64_t tolerance);

}  // namespace transload
