#include "planner/strategy/route_list.h"

#include <algorithm>

namespace transload {

void RouteList::add(std::uint32_t demand_class, std::int64_t begin, std::int64_t end, Rank source,
                    Rank receiver) {
  if (begin == end) return;
  if (!set_.routes.empty()) {
    Route& last = set_.routes.back();
    if (last.demand_class == demand_class && last.end == begin && last.source == source &&
        last.landing == receiver && last.parent == kNoRoute) {
      loads_.add(last.out_port, end - begin);
      loads_.add(last.in_port, end - begin);
      last.end = end;
      return;
    }
  }
  add_route(demand_class, begin, end, source, receiver, kNoRoute);
}

std::uint32_t RouteList::add_route(std::uint32_t demand_class, std::int64_t begin, std::int64_t end,
                                   Rank source, Rank landing, std::uint32_t parent) {
  const PortPair ports = choose_ports(fabric_, loads_, source, landing);
  loads_.add(ports.out, end - begin);
  loads_.add(ports.in, end - begin);
  Route route;
  route.demand_class = demand_class;
  route.begin = begin;
  route.end = end;
  route.source = source;
  route.landing = landing;
  route.out_port = ports.out;
  route.in_port = ports.in;
  route.parent = parent;
  set_.routes.push_back(route);
  return static_cast<std::uint32_t>(set_.routes.size() - 1);
}

Rank RouteList::least_loaded(const std::vector<Rank>& ranks) const {
  const auto load = [&](Rank rank) {
    const std::vector<std::int32_t>& nics = fabric_.ranks[static_cast<std::size_t>(rank)].nic_in;
    return nics.empty() ? INT64_MAX : loads_.of(loads_.least(nics));
  };
  return *std::min_element(ranks.begin(), ranks.end(),
                           [&](Rank a, Rank b) { return load(a) < load(b); });
}

}  // namespace transload
