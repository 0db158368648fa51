#include "planner/strategy/transload/relieve.h"

#include <algorithm>
#include <vector>

#include "planner/strategy/transload/even_out.h"
#include "planner/strategy/transload/relief_groups.h"
#include "planner/strategy/transload/relief_routes.h"

namespace transload {
namespace {

// Part of the goal by which a port may exceed it before anything is changed, and which a change
// must win.
constexpr std::int64_t kToleranceDivisor = 500;
// Launches and latencies that it must win besides: other courses are more transfers, one after the
// other.
constexpr std::int64_t kOverheads = 4;
// Bytes, in cut tolerances and at least, of which a course of its own is made.
constexpr std::int64_t kSmallestInTolerances = 4;
constexpr std::int64_t kSmallest = std::int64_t{1} << 18;

std::vector<std::int64_t> loads_of(const RouteSet& set, const Fabric& fabric) {
  std::vector<std::int64_t> load(fabric.port_rate.size(), 0);
  const auto add = [&](std::int32_t port, std::int64_t bytes) {
    load[static_cast<std::size_t>(port)] += bytes;
  };
  for (const Route& route : set.routes) {
    const std::int64_t bytes = route.end - route.begin;
    add(route.out_port, bytes);
    add(route.in_port, bytes);
    if (route.fan_out_count == 0) continue;
    add(fabric.ranks[static_cast<std::size_t>(route.landing)].nvlink_out,
        bytes * route.fan_out_count);
    for (std::uint32_t i = 0; i < route.fan_out_count; ++i) {
      const Rank to = set.fan_out[route.fan_out_first + i];
      add(fabric.ranks[static_cast<std::size_t>(to)].nvlink_in, bytes);
    }
  }
  return load;
}

// Small shares take the course of their group's largest one.
void drop_small(std::vector<CourseGroup>& groups, std::int64_t smallest) {
  for (CourseGroup& group : groups) {
    const auto largest = std::max_element(
        group.shares.begin(), group.shares.end(),
        [](const CourseShare& a, const CourseShare& b) { return a.bytes < b.bytes; });
    for (CourseShare& share : group.shares) {
      if (share.bytes >= smallest || &share == &*largest) continue;
      largest->bytes += share.bytes;
      share.bytes = 0;
    }
    std::erase_if(group.shares, [](const CourseShare& share) { return share.bytes == 0; });
  }
}

}  // namespace

RouteSet relieve(const RouteSet& network, RouteSet served, const ReliefInput& input) {
  const std::int64_t most = busiest_ps(loads_of(served, input.fabric), input.fabric);
  const std::int64_t worthwhile =
      std::max(input.goal_ps / kToleranceDivisor, kOverheads * input.fabric.network_overhead_ps);
  if (most <= input.goal_ps + worthwhile) return served;
  ReliefGroups groups = group_for_relief(network, input);
  if (even_out(groups.courses, groups.load, input.fabric, input.may_help, input.goal_ps) >=
      most - worthwhile)
    return served;
  drop_small(groups.courses, std::max(kSmallest, kSmallestInTolerances * input.tolerance));
  RouteSet relieved = routes_of(groups, network, input);
  if (busiest_ps(loads_of(relieved, input.fabric), input.fabric) >= most - worthwhile)
    return served;
  return relieved;
}

}  // namespace transload
