#include "topologies/paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/error.h"

namespace transload {
namespace {

const Gpu& gpu_at(const Topology& topology, std::int32_t gpu) {
  return topology.gpus[static_cast<std::size_t>(gpu)];
}
const Nic& nic_at(const Topology& topology, std::int32_t nic) {
  return topology.nics[static_cast<std::size_t>(nic)];
}
const Switch& switch_at(const Topology& topology, std::int32_t index) {
  return topology.switches[static_cast<std::size_t>(index)];
}

std::int32_t wan_between(const Topology& topology, std::int32_t a, std::int32_t b) {
  for (std::size_t i = 0; i < topology.wan_links.size(); ++i) {
    const WanLink& link = topology.wan_links[i];
    if ((link.site_a == a && link.site_b == b) || (link.site_a == b && link.site_b == a))
      return static_cast<std::int32_t>(i);
  }
  return -1;
}

std::int64_t slower(std::int64_t a, std::int64_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

std::int64_t nvlink_rate(const Topology& topology, std::int32_t gpu) {
  const Gpu& at = gpu_at(topology, gpu);
  return achieved_rate(at.nvlink_rate, nvlink_costs(topology, at));
}

// Between a GPU and a NIC that hang at different PCIe switches, both up-links are on the way.
std::int64_t over_pcie(const Topology& topology, std::int32_t gpu, std::int32_t nic,
                       std::int64_t rate) {
  if (!crosses_pcie(topology, gpu, nic)) return rate;
  for (std::int32_t index : {gpu_at(topology, gpu).pcie_switch, nic_at(topology, nic).pcie_switch})
    rate = slower(rate, topology.pcie_switches[static_cast<std::size_t>(index)].uplink_rate);
  return rate;
}

std::int64_t network_rate(const Topology& topology, const GpuPath& path) {
  const Nic& out = nic_at(topology, path.nic_out);
  const Nic& in = nic_at(topology, path.nic_in);
  std::int64_t rate = slower(achieved_rate(out.rate, nic_costs(topology, out)),
                             achieved_rate(in.rate, nic_costs(topology, in)));
  rate = over_pcie(topology, path.sender, path.nic_out, rate);
  rate = over_pcie(topology, path.receiver, path.nic_in, rate);
  for (const auto* way : {&path.network.up, &path.network.down})
    for (std::int32_t index : *way) {
      const Switch& below = switch_at(topology, index);
      rate = slower(rate, achieved_rate(below.uplink_rate, below.uplink_efficiency_ppm));
    }
  if (path.network.wan >= 0)
    rate = slower(rate, topology.wan_links[static_cast<std::size_t>(path.network.wan)].rate);
  return rate;
}

std::int64_t nvlink_latency(const Topology& topology, std::int32_t a, std::int32_t b) {
  return std::max(nvlink_costs(topology, gpu_at(topology, a)).latency_ps,
                  nvlink_costs(topology, gpu_at(topology, b)).latency_ps);
}

// Fills rate and latency from the hops.
void cost_path(const Topology& topology, std::int32_t from, std::int32_t to, GpuPath& path) {
  const Nic& out = nic_at(topology, path.nic_out);
  const Nic& in = nic_at(topology, path.nic_in);
  path.rate = network_rate(topology, path);
  path.latency_ps =
      std::max(nic_costs(topology, out).latency_ps, nic_costs(topology, in).latency_ps) +
      path.network.latency_ps;
  const auto over_nvlink = [&](std::int32_t a, std::int32_t b) {
    if (a == b) return;
    path.rate = slower(path.rate, slower(nvlink_rate(topology, a), nvlink_rate(topology, b)));
    path.latency_ps += nvlink_latency(topology, a, b);
  };
  over_nvlink(from, path.sender);
  over_nvlink(path.receiver, to);
}

// The best joined pair of NICs of two GPUs: fewest switches, then one rail, then nearest first.
std::optional<GpuPath> network_path(const Topology& topology, std::int32_t sender,
                                    std::int32_t receiver) {
  std::optional<GpuPath> best;
  std::size_t best_switches = 0;
  for (std::int32_t out : gpu_at(topology, sender).nics)
    for (std::int32_t in : gpu_at(topology, receiver).nics) {
      auto network = path_between_nics(topology, out, in);
      if (!network) continue;
      const std::size_t switches = network->up.size() + network->down.size();
      if (best && switches >= best_switches) continue;
      best_switches = switches;
      best.emplace();
      best->kind = GpuPath::Kind::kNetwork;
      best->sender = sender;
      best->receiver = receiver;
      best->nic_out = out;
      best->nic_in = in;
      best->network = std::move(*network);
    }
  return best;
}

std::vector<std::int32_t> neighbours(const Topology& topology, std::int32_t gpu) {
  std::vector<std::int32_t> others;
  const Gpu& at = gpu_at(topology, gpu);
  if (at.nvlink_rate == 0) return others;
  for (std::int32_t other = 0; other < static_cast<std::int32_t>(topology.gpus.size()); ++other)
    if (other != gpu && gpu_at(topology, other).domain == at.domain) others.push_back(other);
  return others;
}

std::size_t switches_of(const GpuPath& path) {
  return path.network.up.size() + path.network.down.size();
}

// The neighbour with the shortest way; the first of equals.
std::optional<GpuPath> shortest(std::vector<std::optional<GpuPath>> paths) {
  std::optional<GpuPath> best;
  for (auto& path : paths)
    if (path && (!best || switches_of(*path) < switches_of(*best))) best = std::move(path);
  return best;
}

std::string nic_name(const Topology& topology, std::int32_t nic) {
  return nic_at(topology, nic).name;
}

}  // namespace

bool crosses_pcie(const Topology& topology, std::int32_t gpu, std::int32_t nic) {
  const std::int32_t at_gpu = gpu_at(topology, gpu).pcie_switch;
  const std::int32_t at_nic = nic_at(topology, nic).pcie_switch;
  return at_gpu >= 0 && at_nic >= 0 && at_gpu != at_nic;
}

std::vector<std::int32_t> switches_above(const Topology& topology, std::int32_t leaf) {
  std::vector<std::int32_t> above;
  for (std::int32_t at = leaf; at >= 0; at = switch_at(topology, at).parent) above.push_back(at);
  return above;
}

std::optional<NicPath> path_between_nics(const Topology& topology, std::int32_t from,
                                         std::int32_t to) {
  std::vector<std::int32_t> up = switches_above(topology, nic_at(topology, from).leaf);
  std::vector<std::int32_t> down = switches_above(topology, nic_at(topology, to).leaf);
  NicPath path;
  if (up.back() != down.back()) {
    const Switch& root_a = switch_at(topology, up.back());
    const Switch& root_b = switch_at(topology, down.back());
    if (root_a.site == root_b.site || !root_a.gateway || !root_b.gateway) return std::nullopt;
    path.wan = wan_between(topology, root_a.site, root_b.site);
    if (path.wan < 0) return std::nullopt;
    path.latency_ps = topology.wan_links[static_cast<std::size_t>(path.wan)].latency_ps;
    for (std::size_t i = 1; i < up.size(); ++i)
      path.latency_ps += switch_at(topology, up[i]).latency_ps;
    for (std::int32_t index : down) path.latency_ps += switch_at(topology, index).latency_ps;
    up.pop_back();
    down.pop_back();
  } else {
    while (up.size() > 1 && down.size() > 1 && up[up.size() - 2] == down[down.size() - 2]) {
      up.pop_back();
      down.pop_back();
    }
    // Passing the first switch is in the latency of a NIC: all that are entered later count.
    for (std::size_t i = 1; i < up.size(); ++i)
      path.latency_ps += switch_at(topology, up[i]).latency_ps;
    up.pop_back();
    down.pop_back();
    for (std::int32_t index : down) path.latency_ps += switch_at(topology, index).latency_ps;
  }
  std::reverse(down.begin(), down.end());
  path.up = std::move(up);
  path.down = std::move(down);
  return path;
}

std::vector<GpuPath> gpu_paths(const Topology& topology, std::int32_t from, std::int32_t to) {
  for (std::int32_t gpu : {from, to})
    if (gpu < 0 || static_cast<std::size_t>(gpu) >= topology.gpus.size())
      throw InputError(
          fmt::format("no GPU {}; the topology has GPUs 0 to {}", gpu, topology.gpus.size() - 1));
  GpuPath first;
  first.sender = from;
  first.receiver = to;
  if (from == to) return {first};
  std::vector<GpuPath> paths;
  if (gpu_at(topology, from).domain == gpu_at(topology, to).domain) {
    first.kind = GpuPath::Kind::kNvlink;
    first.rate = slower(nvlink_rate(topology, from), nvlink_rate(topology, to));
    first.latency_ps = nvlink_latency(topology, from, to);
    paths.push_back(first);
  }
  const auto direct = network_path(topology, from, to);
  if (direct) paths.push_back(*direct);
  if (direct && direct->network.up.empty() && direct->network.down.empty()) {
    for (GpuPath& path : paths)
      if (path.kind == GpuPath::Kind::kNetwork) cost_path(topology, from, to, path);
    return paths;
  }
  std::vector<std::optional<GpuPath>> at_sender;
  for (std::int32_t other : neighbours(topology, from))
    if (other != to) at_sender.push_back(network_path(topology, other, to));
  std::vector<std::optional<GpuPath>> at_receiver;
  for (std::int32_t other : neighbours(topology, to))
    if (other != from) at_receiver.push_back(network_path(topology, from, other));
  for (auto& candidates : {&at_sender, &at_receiver}) {
    const auto path = shortest(std::move(*candidates));
    if (path && (!direct || switches_of(*path) < switches_of(*direct))) paths.push_back(*path);
  }
  for (GpuPath& path : paths)
    if (path.kind == GpuPath::Kind::kNetwork) cost_path(topology, from, to, path);
  return paths;
}

std::string path_text(const Topology& topology, std::int32_t from, std::int32_t to,
                      const GpuPath& path) {
  if (path.kind == GpuPath::Kind::kSelf) return fmt::format("gpu{} (itself)", from);
  if (path.kind == GpuPath::Kind::kNvlink) return fmt::format("gpu{} -NVLink-> gpu{}", from, to);
  std::string text = fmt::format("gpu{}", from);
  if (path.sender != from) text += fmt::format(" -NVLink-> gpu{}", path.sender);
  text += fmt::format(" -> {}", nic_name(topology, path.nic_out));
  std::int32_t turn = nic_at(topology, path.nic_out).leaf;
  for (std::int32_t index : path.network.up) {
    text += fmt::format(" -> {}", switch_at(topology, index).name);
    turn = switch_at(topology, index).parent;
  }
  text += fmt::format(" -> {}", switch_at(topology, turn).name);
  if (path.network.wan >= 0) {
    const std::vector<std::int32_t> above =
        switches_above(topology, nic_at(topology, path.nic_in).leaf);
    text += fmt::format(" -> (link between sites) -> {}", switch_at(topology, above.back()).name);
  }
  for (std::int32_t index : path.network.down)
    text += fmt::format(" -> {}", switch_at(topology, index).name);
  text += fmt::format(" -> {} -> gpu{}", nic_name(topology, path.nic_in), path.receiver);
  if (path.receiver != to) text += fmt::format(" -NVLink-> gpu{}", to);
  return text;
}

}  // namespace transload
