#include "planner/strategy/fabric_paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/error.h"

namespace transload {
namespace {

const Nic& nic_at(const Topology& topology, std::int32_t nic) {
  return topology.nics[static_cast<std::size_t>(nic)];
}

}  // namespace

FabricPaths::FabricPaths(PlanBuilder& builder, const Topology& topology)
    : builder_(builder), topology_(topology) {
  any_ = topology.switches.size() > 1 || !topology.pcie_switches.empty();
}

void FabricPaths::note_port(std::int32_t port, std::int32_t nic) {
  if (nic_of_port_.size() <= static_cast<std::size_t>(port))
    nic_of_port_.resize(static_cast<std::size_t>(port) + 1, -1);
  nic_of_port_[static_cast<std::size_t>(port)] = nic;
}

void FabricPaths::find(OpSpec& transfer) {
  const auto nic_of = [&](std::int32_t port) {
    const auto p = static_cast<std::size_t>(port);
    return p < nic_of_port_.size() ? nic_of_port_[p] : -1;
  };
  const std::int32_t out = nic_of(transfer.out_port);
  const std::int32_t in = nic_of(transfer.in_port);
  if (out < 0 || in < 0) return;
  const PathPair paths = between(transfer.source, out, transfer.destination, in);
  transfer.out_path = paths.out;
  transfer.in_path = paths.in;
}

FabricPaths::PathPair FabricPaths::between(std::int32_t rank_out, std::int32_t nic_out,
                                           std::int32_t rank_in, std::int32_t nic_in) {
  if (!topology_.pcie_switches.empty() &&
      (crosses_pcie(topology_, rank_out, nic_out) || crosses_pcie(topology_, rank_in, nic_in)))
    return make(rank_out, nic_out, rank_in, nic_in);
  const std::uint64_t leaves =
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(nic_at(topology_, nic_out).leaf))
          << 32 |
      static_cast<std::uint32_t>(nic_at(topology_, nic_in).leaf);
  const auto found = of_leaves_.find(leaves);
  if (found != of_leaves_.end()) return found->second;
  return of_leaves_.emplace(leaves, make(rank_out, nic_out, rank_in, nic_in)).first->second;
}

FabricPaths::PathPair FabricPaths::make(std::int32_t rank_out, std::int32_t nic_out,
                                        std::int32_t rank_in, std::int32_t nic_in) {
  const auto way = path_between_nics(topology_, nic_out, nic_in);
  if (!way)
    throw InputError(fmt::format(
        "ranks {} and {}: no switch and no link between sites joins their NICs {} and {}", rank_out,
        rank_in, nic_at(topology_, nic_out).name, nic_at(topology_, nic_in).name));
  std::vector<std::uint32_t> up;
  add_pcie(rank_out, nic_out, true, up);
  add_switch_links(way->up, Kind::kUp, up);
  if (way->wan >= 0) {
    const WanLink& wan = topology_.wan_links[static_cast<std::size_t>(way->wan)];
    const Node& from = topology_.nodes[static_cast<std::size_t>(nic_at(topology_, nic_out).node)];
    up.push_back(link(Kind::kWan, way->wan, wan.site_a == from.site));
  }
  std::vector<std::uint32_t> down;
  add_switch_links(way->down, Kind::kDown, down);
  add_pcie(rank_in, nic_in, false, down);
  return {path_of(up, way->latency_ps), path_of(down, 0)};
}

// From the GPU's switch up to the host bridge and down to the NIC's switch, or back.
void FabricPaths::add_pcie(std::int32_t rank, std::int32_t nic, bool sends,
                           std::vector<std::uint32_t>& links) {
  if (!crosses_pcie(topology_, rank, nic)) return;
  const std::int32_t at_gpu = topology_.gpus[static_cast<std::size_t>(rank)].pcie_switch;
  const std::int32_t at_nic = nic_at(topology_, nic).pcie_switch;
  const auto add = [&](std::int32_t at, Kind kind) {
    if (topology_.pcie_switches[static_cast<std::size_t>(at)].uplink_rate > 0)
      links.push_back(link(kind, at));
  };
  add(sends ? at_gpu : at_nic, Kind::kPcieUp);
  add(sends ? at_nic : at_gpu, Kind::kPcieDown);
}

void FabricPaths::add_switch_links(const std::vector<std::int32_t>& switches, Kind kind,
                                   std::vector<std::uint32_t>& links) {
  for (std::int32_t index : switches)
    if (topology_.switches[static_cast<std::size_t>(index)].uplink_rate > 0)
      links.push_back(link(kind, index));
}

std::uint32_t FabricPaths::link(Kind kind, std::int32_t index, bool from_a) {
  // The two directions of a link between sites are two links.
  const std::int32_t key = kind == Kind::kWan && !from_a ? -1 - index : index;
  const auto found = links_.find({kind, key});
  if (found != links_.end()) return found->second;
  const auto i = static_cast<std::size_t>(index);
  std::uint32_t added = 0;
  if (kind == Kind::kUp || kind == Kind::kDown) {
    const Switch& at = topology_.switches[i];
    added = builder_.add_link(kind == Kind::kUp ? LinkKind::kUplink : LinkKind::kDownlink,
                              at.uplink_rate, at.uplink_efficiency_ppm,
                              at.name + (kind == Kind::kUp ? ".up" : ".down"));
  } else if (kind == Kind::kWan) {
    const WanLink& wan = topology_.wan_links[i];
    const std::string& a = topology_.sites[static_cast<std::size_t>(wan.site_a)].name;
    const std::string& b = topology_.sites[static_cast<std::size_t>(wan.site_b)].name;
    added =
        builder_.add_link(LinkKind::kWan, wan.rate, kPpm,
                          from_a ? fmt::format("{} to {}", a, b) : fmt::format("{} to {}", b, a));
  } else {
    const PcieSwitch& at = topology_.pcie_switches[i];
    added = builder_.add_link(
        LinkKind::kPcie, at.uplink_rate, kPpm,
        fmt::format("{}.pcie{}.{}", topology_.nodes[static_cast<std::size_t>(at.node)].name, index,
                    kind == Kind::kPcieUp ? "up" : "down"));
  }
  links_.emplace(std::pair(kind, key), added);
  return added;
}

std::uint32_t FabricPaths::path_of(const std::vector<std::uint32_t>& links,
                                   std::int64_t latency_ps) {
  if (links.empty() && latency_ps == 0) return 0;
  const std::pair key(links, latency_ps);
  const auto found = paths_.find(key);
  if (found != paths_.end()) return found->second;
  return paths_.emplace(key, builder_.add_path(links, latency_ps)).first->second;
}

}  // namespace transload
