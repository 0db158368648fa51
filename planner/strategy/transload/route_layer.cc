#include "planner/strategy/transload/route_layer.h"

#include <algorithm>
#include <vector>

namespace transload {

std::uint32_t RouteLayer::add(const Route& route) {
  loads_.add(route.out_port, route.end - route.begin);
  loads_.add(route.in_port, route.end - route.begin);
  set_.routes.push_back(route);
  return static_cast<std::uint32_t>(set_.routes.size() - 1);
}

std::uint32_t RouteLayer::bring_to(Route stretch, std::uint32_t holder_set, Rank rank) {
  const std::span<const Rank> holders = problem_.sets.of(holder_set);
  if (std::binary_search(holders.begin(), holders.end(), rank)) return kNoRoute;
  const auto domain = [&](Rank of) { return fabric_.domain[static_cast<std::size_t>(of)]; };
  std::vector<Rank> near;
  for (const Rank holder : holders)
    if (domain(holder) == domain(rank)) near.push_back(holder);
  stretch.source = least_loaded_holder(fabric_, loads_, near, rank);
  stretch.landing = rank;
  const PortPair ports = choose_ports(fabric_, loads_, stretch.source, rank);
  stretch.out_port = ports.out;
  stretch.in_port = ports.in;
  stretch.wanted = false;
  return add(stretch);
}

std::uint32_t RouteLayer::land(Route route, std::uint32_t receiver_set, const PortShare& to) {
  route.landing = to.rank;
  route.in_port = to.port;
  route.fan_out_first = static_cast<std::uint32_t>(set_.fan_out.size());
  route.wanted = false;
  for (const Rank rank : deliveries_.sets.of(receiver_set)) {
    if (rank == to.rank)
      route.wanted = true;
    else
      set_.fan_out.push_back(rank);
  }
  route.fan_out_count = static_cast<std::uint32_t>(set_.fan_out.size()) - route.fan_out_first;
  return add(route);
}

}  // namespace transload
