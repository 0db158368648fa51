#include "planner/strategy/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/check.h"
#include "common/error.h"
#include "common/units.h"

namespace transload {

void PortLoads::add(std::int32_t port, std::int64_t bytes) {
  const auto p = static_cast<std::size_t>(port);
  ps_[p] += duration_ps(bytes, fabric_.port_rate[p]);
}

std::int32_t PortLoads::least(const std::vector<std::int32_t>& ports) const {
  TRANSLOAD_CHECK(!ports.empty(), "there is a port to choose");
  return *std::min_element(ports.begin(), ports.end(),
                           [&](std::int32_t a, std::int32_t b) { return of(a) < of(b); });
}

std::int64_t most_loaded_ps(const RouteSet& set, const Fabric& fabric) {
  std::vector<std::int64_t> bytes(fabric.port_rate.size(), 0);
  for (const Route& route : set.routes) {
    const std::int64_t length = route.end - route.begin;
    bytes[static_cast<std::size_t>(route.out_port)] += length;
    bytes[static_cast<std::size_t>(route.in_port)] += length;
    const RankPorts& landing = fabric.ranks[static_cast<std::size_t>(route.landing)];
    for (std::uint32_t i = 0; i < route.fan_out_count; ++i) {
      const Rank to = set.fan_out[route.fan_out_first + i];
      bytes[static_cast<std::size_t>(landing.nvlink_out)] += length;
      bytes[static_cast<std::size_t>(fabric.ranks[static_cast<std::size_t>(to)].nvlink_in)] +=
          length;
    }
  }
  std::int64_t most = 0;
  for (std::size_t port = 0; port < bytes.size(); ++port)
    most = std::max(most, duration_ps(bytes[port], fabric.port_rate[port]));
  return most;
}

bool forwards_over_network(const RouteSet& set, const Fabric& fabric) {
  const auto over_nic = [&](const Route& route) {
    return fabric.port_network[static_cast<std::size_t>(route.out_port)] != kNone;
  };
  return std::any_of(set.routes.begin(), set.routes.end(), [&](const Route& route) {
    return route.parent != kNoRoute && over_nic(route) && over_nic(set.routes[route.parent]);
  });
}

namespace {

// The least loaded NICs of two ranks that reach each other: the sender's decides first.
PortPair least_joined(const Fabric& fabric, const PortLoads& loads, const RankPorts& from,
                      const RankPorts& to, Rank source, Rank landing) {
  const auto network = [&](std::int32_t port) {
    return fabric.port_network[static_cast<std::size_t>(port)];
  };
  PortPair best;
  for (std::int32_t out : from.nic_out) {
    if (best.out != kNone && loads.of(out) >= loads.of(best.out)) continue;
    std::int32_t in = kNone;
    for (std::int32_t candidate : to.nic_in)
      if (network(candidate) == network(out) && (in == kNone || loads.of(candidate) < loads.of(in)))
        in = candidate;
    if (in != kNone) best = {out, in};
  }
  if (best.out == kNone)
    throw InputError(fmt::format(
        "ranks {} and {}: no NIC of the one reaches a NIC of the other; their rails, planes or "
        "sites are not joined by any switch or link",
        source, landing));
  return best;
}

}  // namespace

PortPair choose_ports(const Fabric& fabric, const PortLoads& loads, Rank source, Rank landing) {
  const RankPorts& from = fabric.ranks[static_cast<std::size_t>(source)];
  const RankPorts& to = fabric.ranks[static_cast<std::size_t>(landing)];
  const bool one_domain = fabric.domain[static_cast<std::size_t>(source)] ==
                          fabric.domain[static_cast<std::size_t>(landing)];
  if (one_domain && from.nvlink_out != kNone && to.nvlink_in != kNone)
    return {from.nvlink_out, to.nvlink_in};
  if (from.nic_out.empty() || to.nic_in.empty())
    throw InputError(
        fmt::format("ranks {} and {}: no link of the topology joins them", source, landing));
  return least_joined(fabric, loads, from, to, source, landing);
}

Rank least_loaded_holder(const Fabric& fabric, const PortLoads& loads,
                         std::span<const Rank> holders, Rank landing) {
  Rank best = holders.front();
  std::int64_t best_load = loads.of(choose_ports(fabric, loads, best, landing).out);
  for (Rank holder : holders.subspan(1)) {
    const std::int64_t load = loads.of(choose_ports(fabric, loads, holder, landing).out);
    if (load < best_load) {
      best_load = load;
      best = holder;
    }
  }
  return best;
}

}  // namespace transload
