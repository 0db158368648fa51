// Routes taken apart into groups of bytes with the same choice of courses. Internal to the strategy
// `transload`: the first half of relieve.h.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "planner/strategy/transload/even_out.h"
#include "planner/strategy/transload/relieve.h"

namespace transload {

// Bytes of some classes, laid end to end, whose ends are the same.
struct ReliefGroup {
  std::uint32_t holders = 0;    // in `problem.sets`
  std::uint32_t receivers = 0;  // in `ReliefGroups::sets`
  std::uint32_t served = 0;     // ditto: CourseEnds::served
  Rank landing = kNone;
  std::vector<Stretch> stretches;
  std::vector<std::uint32_t> routes;  // that bring the stretches; none: a domain holds them
};

struct ReliefGroups {
  RankSets sets;
  std::vector<ReliefGroup> groups;
  std::vector<CourseGroup> courses;  // by group: how its bytes travel now
  std::vector<std::int64_t> load;    // bytes by port, as routes and groups have it
  // By class: who wants it in domains that hold it, in `sets`.
  std::vector<std::uint32_t> served;
  std::vector<bool> open;  // by route: its NICs may be chosen anew; nobody forwards it
};

// Whether the route only brings bytes over NVLink to the rank whose NIC sends them.
bool is_pool(const RouteSet& set, std::uint32_t route, const Fabric& fabric);

// Of `network`, and of what domains hold. Routes that are forwarded, and forwards, keep their NICs.
// Where a NIC sends what its rank gets from a holder of its domain anyway, NVLink does not bring it
// a second time.
ReliefGroups group_for_relief(const RouteSet& network, const ReliefInput& input);

}  // namespace transload
