#include "planner/strategy/transload/entries.h"

#include <algorithm>

#include "common/check.h"

namespace transload {
namespace {

bool over_nvlink(const Route& route, const Fabric& fabric) {
  return route.out_port == fabric.ranks[static_cast<std::size_t>(route.source)].nvlink_out;
}

std::vector<Rank> receivers_of(const RouteSet& set, const Route& route) {
  std::vector<Rank> receivers(set.fan_out.begin() + route.fan_out_first,
                              set.fan_out.begin() + route.fan_out_first + route.fan_out_count);
  if (route.wanted) receivers.push_back(route.landing);
  std::sort(receivers.begin(), receivers.end());
  return receivers;
}

// Appends with the fan-out given; returns the route's number.
std::uint32_t append(RouteSet& set, Route route, std::span<const Rank> fan_out) {
  route.fan_out_first = static_cast<std::uint32_t>(set.fan_out.size());
  route.fan_out_count = static_cast<std::uint32_t>(fan_out.size());
  set.fan_out.insert(set.fan_out.end(), fan_out.begin(), fan_out.end());
  set.routes.push_back(route);
  return static_cast<std::uint32_t>(set.routes.size() - 1);
}

}  // namespace

EntrySet to_entries(const RouteSet& set, const Fabric& fabric) {
  EntrySet result;
  result.rest.locals = set.locals;
  std::vector<std::uint32_t> entry_of(set.routes.size(), kNoEntry);
  for (std::uint32_t r = 0; r < set.routes.size(); ++r) {
    const Route& route = set.routes[r];
    if (over_nvlink(route, fabric)) {
      // A hop to a rank that sends is part of the entry that it leads to.
      if (!route.wanted) continue;
      TRANSLOAD_CHECK(route.parent == kNoRoute, "NVLink serves receivers from holders");
      append(result.rest, route, {set.fan_out.data() + route.fan_out_first, route.fan_out_count});
      continue;
    }
    Entry entry{route.demand_class,
                route.begin,
                route.end,
                result.receivers.intern(receivers_of(set, route)),
                kNoEntry,
                {route.source, route.source, route.landing, route.out_port, route.in_port}};
    std::uint32_t before = route.parent;
    if (before != kNoRoute && over_nvlink(set.routes[before], fabric)) {
      entry.way.holder = set.routes[before].source;
      before = set.routes[before].parent;
    }
    if (before != kNoRoute) {
      entry.parent = entry_of[before];
      TRANSLOAD_CHECK(entry.parent != kNoEntry, "what is forwarded came over the network");
    }
    entry_of[r] = static_cast<std::uint32_t>(result.entries.size());
    result.entries.push_back(entry);
  }
  return result;
}

RouteSet to_routes(const EntrySet& set, const Fabric& fabric) {
  RouteSet result;
  result.locals = set.rest.locals;
  std::vector<std::uint32_t> route_of;
  std::vector<Rank> fan_out;
  for (const Entry& entry : set.entries) {
    const Way& way = entry.way;
    Route route;
    route.demand_class = entry.demand_class;
    route.begin = entry.begin;
    route.end = entry.end;
    if (entry.parent != kNoEntry) route.parent = route_of[entry.parent];
    if (way.holder != way.sender) {
      Route hop = route;
      hop.source = way.holder;
      hop.landing = way.sender;
      hop.out_port = fabric.ranks[static_cast<std::size_t>(way.holder)].nvlink_out;
      hop.in_port = fabric.ranks[static_cast<std::size_t>(way.sender)].nvlink_in;
      hop.wanted = false;
      route.parent = append(result, hop, {});
    }
    route.source = way.sender;
    route.landing = way.landing;
    route.out_port = way.out_port;
    route.in_port = way.in_port;
    route.wanted = false;
    fan_out.clear();
    for (const Rank rank : set.receivers.of(entry.receivers)) {
      if (rank == way.landing)
        route.wanted = true;
      else
        fan_out.push_back(rank);
    }
    route_of.push_back(append(result, route, fan_out));
  }
  for (const Route& route : set.rest.routes)
    append(result, route, {set.rest.fan_out.data() + route.fan_out_first, route.fan_out_count});
  return result;
}

}  // namespace transload
