// Choosing a way for every entry so that no port and no narrow link is busy for longer than a goal.
// Internal to the strategy `transload`.
//
// Entries with least choice are placed first. Each takes the way that stays within the goal with
// the fewest narrow links, then the fewest NVLink hops beside those that it needs anyway, then the
// least load; it is cut where no way has room for all of it. Entries that end up on resources
// beyond the goal are placed once more, a few times over. It is a heuristic for a multi-commodity
// flow: exact where every entry has a way without a hop that balances, and close otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/strategy/transload/lines.h"
#include "planner/strategy/transload/port_shares.h"
#include "planner/strategy/transload/way_loads.h"

namespace transload {

// Whether two ranks may exchange bytes over the network; empty: all.
using MayPair = std::function<bool(Rank sender, Rank landing)>;

struct PlacementInput {
  const ReshardProblem& problem;
  const Demand& demand;
  const Fabric& fabric;
  const MayHelp& may_help;
  NarrowLinks& links;
  const ClassCuts& cuts;
  std::int64_t smallest_piece = 1;  // bytes
  MayPair may_pair;
};

struct Placed {
  EntrySet set;
  std::int64_t most_ps = 0;  // of the busiest resource
};

// A sensible `PlacementInput::smallest_piece`: so little of a NIC's work until the goal that a
// smaller one would cost more in operations than it balances.
std::int64_t smallest_piece(const Fabric& fabric, std::int64_t goal_ps);

// InputError naming two ranks where an entry has no way at all.
Placed place(const EntrySet& set, const PlacementInput& input, std::int64_t goal_ps);

// Places for the smallest goal from `goal_ps` on that can be held, to half a percent or so.
Placed place_best(const EntrySet& set, const PlacementInput& input, std::int64_t goal_ps);

}  // namespace transload
