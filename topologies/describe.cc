#include "topologies/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/counted.h"
#include "common/units.h"

namespace transload {
namespace {

std::string rate_text(std::int64_t rate) { return format_rate(static_cast<double>(rate)); }

// All of a loaded node's GPUs are alike, so the first stands for them.
const Gpu& first_gpu(const Topology& topology, const Node& node) {
  return topology.gpus[static_cast<std::size_t>(node.first_gpu)];
}

std::string gpu_text(const GpuModel& model) {
  std::string text = model.name;
  if (model.memory_bytes > 0)
    text += fmt::format(", {}", format_bytes(static_cast<double>(model.memory_bytes)));
  text += model.hbm_rate > 0 ? fmt::format(", HBM {}", rate_text(model.hbm_rate))
                             : ", copies cost no time";
  return text;
}

// "2 NICs of 25 GB/s per GPU", "4 NICs of 12.5 GB/s, each for 2 GPUs", with those that no GPU uses.
std::string nic_text(const Topology& topology, const Node& node) {
  std::vector<std::int64_t> users;
  std::vector<std::int64_t> rates;
  std::vector<std::int32_t> used;
  for (std::int32_t i = 0; i < node.gpu_count; ++i)
    for (std::int32_t nic : topology.gpus[static_cast<std::size_t>(node.first_gpu + i)].nics)
      used.push_back(nic);
  std::sort(used.begin(), used.end());
  const auto uses = static_cast<std::int64_t>(used.size());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  for (std::int32_t nic : used) rates.push_back(topology.nics[static_cast<std::size_t>(nic)].rate);
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  const std::string rate = *least == *most
                               ? rate_text(*most)
                               : fmt::format("{} to {}", rate_text(*least), rate_text(*most));
  const auto nics = static_cast<std::int64_t>(used.size());
  if (uses == nics && nics % node.gpu_count == 0)
    return fmt::format("{} of {} per GPU", counted(nics / node.gpu_count, "NIC"), rate);
  if (uses % nics == 0 && uses / nics > 1)
    return fmt::format("{} of {}, each for {}", counted(nics, "NIC"), rate,
                       counted(uses / nics, "GPU"));
  return fmt::format("{} of {}", counted(nics, "NIC"), rate);
}

// What one node is; nodes with the same text are the same.
std::string node_text(const Topology& topology, const Node& node) {
  const Gpu& gpu = first_gpu(topology, node);
  const GpuModel& model = topology.gpu_models[static_cast<std::size_t>(gpu.model)];
  std::string text = fmt::format("{} ({})", counted(node.gpu_count, "GPU"), gpu_text(model));
  text +=
      gpu.nvlink_rate > 0 ? fmt::format(", NVLink {}", rate_text(gpu.nvlink_rate)) : ", no NVLink";
  text += ", " + nic_text(topology, node);
  return text;
}

std::string domain_text(const Topology& topology) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(topology.domain_count), 0);
  for (const Gpu& gpu : topology.gpus) ++sizes[static_cast<std::size_t>(gpu.domain)];
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const std::string count = counted(topology.domain_count, "NVLink domain");
  if (*least == *most) return fmt::format("{} of {}", count, counted(*most, "GPU"));
  return fmt::format("{} of {} to {} GPUs", count, *least, *most);
}

std::string cost_text(const std::string& name, const LinkCosts& costs) {
  return fmt::format("  {}: {:.4g} % of line rate, latency {}, occupancy {}\n", name,
                     static_cast<double>(costs.efficiency_ppm) * 100 / kPpm,
                     format_seconds(to_seconds(costs.latency_ps)),
                     format_seconds(to_seconds(costs.occupancy_ps)));
}

// One line for each way in which links of that kind differ.
std::string costs_text(const char* name, std::vector<LinkCosts> costs) {
  std::vector<LinkCosts> seen;
  for (LinkCosts& each : costs)
    if (std::find(seen.begin(), seen.end(), each) == seen.end()) seen.push_back(std::move(each));
  std::string text;
  for (const LinkCosts& each : seen) text += cost_text(name, each);
  return text;
}

std::string link_costs_text(const Topology& topology) {
  std::vector<bool> is_nic(topology.link_costs.size(), false);
  std::vector<bool> is_nvlink(topology.link_costs.size(), false);
  for (const Nic& nic : topology.nics) is_nic[static_cast<std::size_t>(nic.costs)] = true;
  for (const Gpu& gpu : topology.gpus)
    if (gpu.nvlink_rate > 0) is_nvlink[static_cast<std::size_t>(gpu.nvlink_costs)] = true;
  std::vector<LinkCosts> nics;
  std::vector<LinkCosts> nvlinks;
  std::vector<LinkCosts> copies;
  for (std::size_t i = 0; i < topology.link_costs.size(); ++i) {
    if (is_nic[i]) nics.push_back(topology.link_costs[i]);
    if (is_nvlink[i]) nvlinks.push_back(topology.link_costs[i]);
  }
  for (const GpuModel& model : topology.gpu_models) copies.push_back(model.copy);
  return costs_text("NIC", nics) + costs_text("NVLink", nvlinks) + costs_text("copy", copies);
}

// "  fabric: 16 leaves, 1 spine; 2 up-links narrower than what hangs below\n"
std::string fabric_text(const Topology& topology) {
  std::int32_t top = 0;
  std::int64_t narrow = 0;
  std::int64_t least = 0;
  for (const Switch& at : topology.switches) {
    top = std::max(top, at.tier);
    if (at.uplink_rate == 0) continue;
    ++narrow;
    least = least == 0 ? at.uplink_rate : std::min(least, at.uplink_rate);
  }
  constexpr const char* kTiers[] = {"leaf switch", "spine layer", "core layer", "layer above"};
  std::string text = "  fabric:";
  for (std::int32_t tier = 1; tier <= top; ++tier) {
    const auto count = std::count_if(topology.switches.begin(), topology.switches.end(),
                                     [&](const Switch& at) { return at.tier == tier; });
    text += fmt::format("{} {}", tier > 1 ? "," : "",
                        count == 1 || tier > 1
                            ? counted(count, top == 1 ? "switch" : kTiers[std::min(tier, 4) - 1])
                            : fmt::format("{} {}es", count, top == 1 ? "switch" : kTiers[0]));
  }
  if (narrow > 0)
    text += fmt::format("; {} narrower than what hangs below, the least {}",
                        counted(narrow, "up-link"), rate_text(least));
  else
    text += "; no up-link is narrower than what hangs below";
  text += '\n';
  if (!topology.published_switches.tiers.empty()) {
    constexpr const char* kNames[] = {"leaf", "spine", "core"};
    text += "  built of";
    for (std::size_t i = 0; i < topology.published_switches.tiers.size(); ++i)
      text +=
          fmt::format("{} {} {} switches", i > 0 ? "," : "", topology.published_switches.tiers[i],
                      kNames[std::min<std::size_t>(i, 2)]);
    text += fmt::format(" ({})\n", topology.published_switches.source);
  }
  for (const WanLink& link : topology.wan_links)
    text += fmt::format("  {} and {} are joined by {}, latency {}\n",
                        topology.sites[static_cast<std::size_t>(link.site_a)].name,
                        topology.sites[static_cast<std::size_t>(link.site_b)].name,
                        rate_text(link.rate), format_seconds(to_seconds(link.latency_ps)));
  return text;
}

}  // namespace

std::string describe_topology(const Topology& topology) {
  std::string text = fmt::format("{}: {}, {}, {}, {}; {} fabric\n", topology.name,
                                 counted(static_cast<std::int64_t>(topology.nodes.size()), "node"),
                                 counted(static_cast<std::int64_t>(topology.gpus.size()), "GPU"),
                                 counted(static_cast<std::int64_t>(topology.nics.size()), "NIC"),
                                 domain_text(topology), topology.fabric_kind);
  std::int64_t alike = 0;
  std::string current;
  const auto flush = [&] {
    if (alike > 0) text += fmt::format("  {} of {}\n", counted(alike, "node"), current);
  };
  for (const Node& node : topology.nodes) {
    std::string next = node_text(topology, node);
    if (next != current) {
      flush();
      alike = 0;
      current = std::move(next);
    }
    ++alike;
  }
  flush();
  return text + fabric_text(topology) + link_costs_text(topology);
}

}  // namespace transload
