#include "planner/strategy/transload/way_loads.h"

#include <algorithm>

#include "common/units.h"

namespace transload {

WayLoads::WayLoads(const Fabric& fabric, NarrowLinks& links)
    : fabric_(fabric), links_(links), rates_(fabric.port_rate) {
  rates_.insert(rates_.end(), links.rates().begin(), links.rates().end());
  ps_.assign(rates_.size(), 0);
}

bool WayLoads::uses(const Way& way, std::span<const Rank> receivers,
                    std::vector<WayUse>& uses) const {
  const std::vector<std::uint32_t>* between = links_.between(way.out_port, way.in_port);
  if (between == nullptr) return false;
  const auto add = [&](std::int32_t port, std::int64_t times) {
    if (port != kNone && times > 0) uses.push_back({static_cast<std::uint32_t>(port), times});
  };
  add(way.out_port, 1);
  add(way.in_port, 1);
  if (way.holder != way.sender) {
    add(fabric_.ranks[static_cast<std::size_t>(way.holder)].nvlink_out, 1);
    add(fabric_.ranks[static_cast<std::size_t>(way.sender)].nvlink_in, 1);
  }
  const bool wanted = std::binary_search(receivers.begin(), receivers.end(), way.landing);
  add(fabric_.ranks[static_cast<std::size_t>(way.landing)].nvlink_out,
      static_cast<std::int64_t>(receivers.size()) - (wanted ? 1 : 0));
  for (const std::uint32_t link : *between)
    uses.push_back({static_cast<std::uint32_t>(fabric_.port_rate.size()) + link, 1});
  return true;
}

std::int64_t WayLoads::narrow(std::span<const WayUse> uses) const {
  return std::count_if(uses.begin(), uses.end(),
                       [&](const WayUse& use) { return use.resource >= fabric_.port_rate.size(); });
}

std::int64_t WayLoads::most() const { return *std::max_element(ps_.begin(), ps_.end()); }

std::int64_t WayLoads::time(const WayUse& use, std::int64_t bytes) const {
  return duration_ps(use.times * bytes, rates_[use.resource]);
}

std::int64_t WayLoads::after(std::span<const WayUse> uses, std::int64_t bytes) const {
  std::int64_t most = 0;
  for (const WayUse& use : uses) most = std::max(most, ps_[use.resource] + time(use, bytes));
  return most;
}

std::int64_t WayLoads::room(std::span<const WayUse> uses, std::int64_t limit_ps) const {
  std::int64_t room = std::int64_t{1} << 60;
  for (const WayUse& use : uses) {
    if (rates_[use.resource] == 0) continue;
    const __int128 left = std::max<std::int64_t>(0, limit_ps - ps_[use.resource]);
    room = static_cast<std::int64_t>(
        std::min<__int128>(room, left * rates_[use.resource] / use.times / kPicosecondsPerSecond));
  }
  return room;
}

void WayLoads::add(std::span<const WayUse> uses, std::int64_t bytes) {
  for (const WayUse& use : uses)
    ps_[use.resource] += bytes < 0 ? -time(use, -bytes) : time(use, bytes);
}

void WayLoads::add_route(const Route& route) {
  const std::int64_t bytes = route.end - route.begin;
  for (const std::int32_t port : {route.out_port, route.in_port})
    add({{{static_cast<std::uint32_t>(port), 1}}}, bytes);
  if (route.fan_out_count > 0)
    add({{{static_cast<std::uint32_t>(
               fabric_.ranks[static_cast<std::size_t>(route.landing)].nvlink_out),
           route.fan_out_count}}},
        bytes);
}

WayLoads loads_of(const EntrySet& set, const Fabric& fabric, NarrowLinks& links) {
  WayLoads loads(fabric, links);
  for (const Route& route : set.rest.routes) loads.add_route(route);
  std::vector<WayUse> uses;
  for (const Entry& entry : set.entries) {
    uses.clear();
    if (loads.uses(entry.way, set.receivers.of(entry.receivers), uses))
      loads.add(uses, entry.end - entry.begin);
  }
  return loads;
}

}  // namespace transload
