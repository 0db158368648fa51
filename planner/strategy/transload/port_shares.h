// Which ports carry how much of each demand: the two flows at the heart of the strategy
// `transload`. Internal to it.
//
// Both sides are the same problem. *Landing*: the bytes that a set of ranks of one domain wants
// must land on NICs of the domain, best on the wanters', where that is not enough on others', which
// hand on over NVLink. *Source*: the bytes that a set of ranks holds must leave through NICs, best
// the holders', where that is not enough through NICs of their domains, to which NVLink brings
// them; where that is not enough either, part of the copies is left to the destination domains,
// which forward to each other. Facts: theory of restricted assignment, docs/strategies.md.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/transload/deliveries.h"

namespace transload {

struct PortShare {
  std::int32_t port = kNone;
  Rank rank = 0;  // whose NIC it is: one of the set where there is one
  std::int64_t bytes = 0;
};

// Who may land or send what it neither wants nor holds, by rank.
using MayHelp = std::vector<bool>;

// By receiver set (an id in `deliveries.sets`): where its bytes land. Aims at `goal_ps`, the bound
// of the whole job: helpers are used only where wanters alone would take longer.
std::vector<std::vector<PortShare>> landing_shares(const Deliveries& deliveries,
                                                   const Demand& demand, const Fabric& fabric,
                                                   const MayHelp& may_help, std::int64_t goal_ps);

struct SourceShares {
  std::vector<std::vector<PortShare>> of;  // by holder set (an id in `problem.sets`)
  // By holder set: bytes of direct copies that exceed the goal and are better relayed.
  std::vector<std::int64_t> excess;
};

// How full sources and forwarding ports are where copies must be relayed at all, per mille of the
// goal: ports that are full on both sides are hard to order (docs/strategies.md).
inline constexpr std::int64_t kRelayUse = 800;
inline constexpr std::int64_t kRelayUseInGroups = 900;
inline constexpr std::int64_t kFullUse = 1000;

// `relay_use`: as kRelayUse, or 0: nothing is relayed.
SourceShares source_shares(const ReshardProblem& problem, const Deliveries& deliveries,
                           const Demand& demand, const Fabric& fabric, const MayHelp& may_help,
                           std::int64_t goal_ps, std::int64_t relay_use);

}  // namespace transload
