#include "topologies/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/units.h"

namespace transload {
namespace {

std::string counted(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

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

// What one node is; nodes with the same text are the same.
std::string node_text(const Topology& topology, const Node& node) {
  const Gpu& gpu = first_gpu(topology, node);
  const GpuModel& model = topology.gpu_models[static_cast<std::size_t>(gpu.model)];
  std::string text = fmt::format("{} ({})", counted(node.gpu_count, "GPU"), gpu_text(model));
  text +=
      gpu.nvlink_rate > 0 ? fmt::format(", NVLink {}", rate_text(gpu.nvlink_rate)) : ", no NVLink";
  const Nic& nic = topology.nics[static_cast<std::size_t>(gpu.nics.front())];
  text +=
      fmt::format(", {} of {} per GPU", counted(static_cast<std::int64_t>(gpu.nics.size()), "NIC"),
                  rate_text(nic.rate));
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

std::string cost_text(const char* name, const LinkCosts& costs) {
  return fmt::format("  {}: {:.4g} % of line rate, latency {}, occupancy {}\n", name,
                     static_cast<double>(costs.efficiency_ppm) * 100 / kPpm,
                     format_seconds(to_seconds(costs.latency_ps)),
                     format_seconds(to_seconds(costs.occupancy_ps)));
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
  text += cost_text("NIC", topology.nic);
  text += cost_text("NVLink", topology.nvlink);
  text += cost_text("copy", topology.copy);
  return text;
}

}  // namespace transload
