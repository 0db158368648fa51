#include "planner/strategy/transload/rails.h"

#include <algorithm>

#include "planner/bound/pods.h"
#include "planner/strategy/transload/placement.h"
#include "planner/strategy/transload/shared_copies.h"

namespace transload {
namespace {

// Part of the goal by which a link may exceed it before anything is changed.
constexpr std::int64_t kToleranceDivisor = 1000;
// Part of the goal that a change must win.
constexpr std::int64_t kWorthwhile = 100;

bool all_joined(const EntrySet& set, NarrowLinks& links) {
  return std::all_of(set.entries.begin(), set.entries.end(), [&](const Entry& entry) {
    return links.between(entry.way.out_port, entry.way.in_port) != nullptr;
  });
}

// Whether NICs of different networks take part, or narrow links.
bool is_plain(const Fabric& fabric, const NarrowLinks& links) {
  if (links.any()) return false;
  std::int32_t network = kNone;
  for (std::size_t port = 0; port < fabric.port_nic.size(); ++port) {
    if (fabric.port_nic[port] == kNone) continue;
    if (network == kNone) network = fabric.port_network[port];
    if (fabric.port_network[port] != network) return false;
  }
  return true;
}

}  // namespace

bool is_one_wide_switch(const Topology& topology, const Fabric& fabric) {
  return is_plain(fabric, NarrowLinks(topology, fabric));
}

RouteSet fit_to_network(RouteSet routes, const ReshardProblem& problem, const Demand& demand,
                        const Topology& topology, const Fabric& fabric,
                        const TransloadOptions& options) {
  NarrowLinks links(topology, fabric);
  if (is_plain(fabric, links)) return routes;
  const EntrySet given = to_entries(routes, fabric);
  const bool joined = all_joined(given, links);
  std::int64_t most_ps = joined ? loads_of(given, fabric, links).most() : INT64_MAX;
  const std::int64_t limit = options.goal_ps + options.goal_ps / kToleranceDivisor;
  if (most_ps <= limit) return routes;
  const ClassCuts cuts(problem, demand);
  const std::int64_t smallest = smallest_piece(fabric, options.goal_ps);
  const PlacementInput input{problem, demand, fabric, options.may_help, links, cuts, smallest, {}};
  EntrySet best = given;
  const auto keep = [&](const EntrySet& set, std::int64_t ps) {
    if (ps >= most_ps - options.goal_ps / kWorthwhile) return;
    best = set;
    most_ps = ps;
  };
  // Copies shared as they stand, then placed anew, which also evens out what sharing burdened.
  EntrySet shared = given;
  if (links.any()) {
    shared = share_copies(given, pods_of(topology), input, options.goal_ps);
    if (all_joined(shared, links)) keep(shared, loads_of(shared, fabric, links).most());
  }
  if (most_ps > limit) {
    const Placed placed = place_best(shared, input, options.goal_ps);
    keep(placed.set, placed.most_ps);
  }
  return to_routes(best, fabric);
}

}  // namespace transload
