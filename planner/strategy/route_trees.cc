#include "planner/strategy/route_trees.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"

namespace transload {

RouteTrees::RouteTrees(const RouteSet& set, const Fabric& fabric)
    : set_(set), child_first_(set.routes.size() + 1, 0) {
  std::vector<std::int64_t> depth(set.routes.size(), 1);
  for (std::uint32_t r = 0; r < set.routes.size(); ++r) {
    const Route& route = set.routes[r];
    if (route.parent == kNoRoute) {
      roots_.push_back(r);
    } else {
      TRANSLOAD_CHECK(route.parent < r, "a route forwards what an earlier one landed");
      const Route& parent = set.routes[route.parent];
      TRANSLOAD_CHECK(parent.demand_class == route.demand_class && parent.landing == route.source &&
                          parent.begin <= route.begin && route.end <= parent.end,
                      "a route forwards bytes that its parent landed on its source");
      ++child_first_[route.parent + 1];
      depth[r] = depth[route.parent] + 1;
    }
    depth_ = std::max(depth_, depth[r] + (route.fan_out_count > 0 ? 1 : 0));
  }
  std::partial_sum(child_first_.begin(), child_first_.end(), child_first_.begin());
  child_.resize(child_first_.back());
  std::vector<std::size_t> next(child_first_.begin(), child_first_.end() - 1);
  for (std::uint32_t r = 0; r < set.routes.size(); ++r)
    if (set.routes[r].parent != kNoRoute) child_[next[set.routes[r].parent]++] = r;
  for (std::uint32_t r = 0; r < set.routes.size(); ++r) {
    const auto over_nic = [&](std::uint32_t child) {
      const RankPorts& ports = fabric.ranks[static_cast<std::size_t>(set.routes[child].source)];
      return set.routes[child].out_port != ports.nvlink_out;
    };
    std::int64_t bytes = 0;
    for (const std::uint32_t child : children(r))
      if (over_nic(child)) bytes += set.routes[child].end - set.routes[child].begin;
    const std::int64_t own = std::max<std::int64_t>(1, set.routes[r].end - set.routes[r].begin);
    most_forwards_ = std::max(most_forwards_, (bytes + own - 1) / own);
    // Where NVLink is all there is, its fan-out is not hidden behind a network.
    if (set.routes[r].parent == kNoRoute && !over_nic(r))
      most_forwards_ = std::max<std::int64_t>(most_forwards_, set.routes[r].fan_out_count);
  }
}

std::vector<std::int64_t> RouteTrees::cuts(std::uint32_t root) const {
  const Route& route = set_.routes[root];
  std::vector<std::int64_t> cuts = {route.end};
  add_cuts(root, cuts);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  if (cuts.front() == route.begin && cuts.size() > 1) cuts.erase(cuts.begin());
  return cuts;
}

void RouteTrees::add_cuts(std::uint32_t route, std::vector<std::int64_t>& cuts) const {
  for (const std::uint32_t child : children(route)) {
    cuts.push_back(set_.routes[child].begin);
    cuts.push_back(set_.routes[child].end);
    add_cuts(child, cuts);
  }
}

}  // namespace transload
