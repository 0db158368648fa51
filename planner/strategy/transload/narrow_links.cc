#include "planner/strategy/transload/narrow_links.h"

#include "common/check.h"
#include "topologies/paths.h"

namespace transload {
namespace {

constexpr std::uint32_t kWide = UINT32_MAX;

}  // namespace

NarrowLinks::NarrowLinks(const Topology& topology, const Fabric& fabric)
    : topology_(topology), fabric_(fabric) {
  const auto both_directions = [&](std::int64_t rate) {
    const auto first = static_cast<std::uint32_t>(rates_.size());
    rates_.insert(rates_.end(), 2, rate);
    return first;
  };
  for (const Switch& at : topology.switches)
    up_.push_back(at.uplink_rate > 0
                      ? both_directions(achieved_rate(at.uplink_rate, at.uplink_efficiency_ppm))
                      : kWide);
  for (const WanLink& link : topology.wan_links) wan_.push_back(both_directions(link.rate));
}

std::int32_t NarrowLinks::nic(std::int32_t port) const {
  const std::int32_t nic = fabric_.port_nic[static_cast<std::size_t>(port)];
  TRANSLOAD_CHECK(nic != kNone, "only NICs lead to the network");
  return nic;
}

std::int32_t NarrowLinks::leaf(std::int32_t port) const {
  return topology_.nics[static_cast<std::size_t>(nic(port))].leaf;
}

const std::vector<std::uint32_t>* NarrowLinks::between(std::int32_t out_port,
                                                       std::int32_t in_port) {
  const std::pair leaves(leaf(out_port), leaf(in_port));
  auto found = of_leaves_.find(leaves);
  if (found == of_leaves_.end())
    found = of_leaves_.emplace(leaves, make(nic(out_port), nic(in_port))).first;
  return found->second.joined ? &found->second.links : nullptr;
}

NarrowLinks::Links NarrowLinks::make(std::int32_t nic_out, std::int32_t nic_in) const {
  const auto way = path_between_nics(topology_, nic_out, nic_in);
  Links result;
  if (!way) return result;
  result.joined = true;
  const auto add = [&](const std::vector<std::int32_t>& switches, std::uint32_t direction) {
    for (const std::int32_t index : switches)
      if (const std::uint32_t up = up_[static_cast<std::size_t>(index)]; up != kWide)
        result.links.push_back(up + direction);
  };
  add(way->up, 0);
  if (way->wan >= 0) {
    const WanLink& wan = topology_.wan_links[static_cast<std::size_t>(way->wan)];
    const Nic& from = topology_.nics[static_cast<std::size_t>(nic_out)];
    const bool from_a = topology_.nodes[static_cast<std::size_t>(from.node)].site == wan.site_a;
    result.links.push_back(wan_[static_cast<std::size_t>(way->wan)] + (from_a ? 0 : 1));
  }
  add(way->down, 1);
  return result;
}

}  // namespace transload
