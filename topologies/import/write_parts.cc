#include "topologies/import/write_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "common/units.h"

namespace transload {
namespace {

void write_nic(YAML::Emitter& out, const std::string& name, std::int64_t rate, std::int32_t numa,
               const std::vector<std::int32_t>& gpus) {
  out << YAML::Flow << YAML::BeginMap << YAML::Key << "name" << YAML::Value << name << YAML::Key
      << "rate" << YAML::Value << rate_text(rate) << YAML::Key << "gpus" << YAML::Value
      << YAML::Flow << gpus;
  if (numa != kUnknown) out << YAML::Key << "numa" << YAML::Value << numa;
  out << YAML::EndMap;
}

void write_islands(YAML::Emitter& out, const ImportedNode& node) {
  std::map<std::int32_t, std::vector<std::int32_t>> islands;
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu)
    islands[node.gpus[gpu].nvlink_island].push_back(static_cast<std::int32_t>(gpu));
  if (islands.size() < 2) return;
  out << YAML::Key << "nvlink_islands" << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (const auto& [number, gpus] : islands) out << YAML::Flow << gpus;
  out << YAML::EndSeq;
}

void write_pcie(YAML::Emitter& out, const ImportedNode& node, const std::set<std::int32_t>& used) {
  if (node.pcie_switches == 0) return;
  out << YAML::Key << "pcie" << YAML::Value << YAML::BeginSeq;
  for (std::int32_t at = 0; at < node.pcie_switches; ++at) {
    std::vector<std::int32_t> gpus;
    std::vector<std::string> nics;
    for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu)
      if (node.gpus[gpu].pcie_switch == at) gpus.push_back(static_cast<std::int32_t>(gpu));
    for (std::int32_t nic : used)
      if (node.nics[static_cast<std::size_t>(nic)].pcie_switch == at)
        nics.push_back(node.nics[static_cast<std::size_t>(nic)].name);
    if (gpus.empty() && nics.empty()) continue;
    out << YAML::Flow << YAML::BeginMap;
    if (!gpus.empty()) out << YAML::Key << "gpus" << YAML::Value << YAML::Flow << gpus;
    if (!nics.empty()) out << YAML::Key << "nics" << YAML::Value << YAML::Flow << nics;
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

struct Measured {
  std::string value;
  std::string what;
};

void write_figures(YAML::Emitter& out, const char* key, const char* name,
                   const std::map<std::string, Measured>& figures) {
  if (figures.empty()) return;
  out << YAML::Key << key << YAML::Value << YAML::BeginMap;
  for (const auto& [link, figure] : figures)
    out << YAML::Key << link << YAML::Value << YAML::Flow << YAML::BeginMap << YAML::Key << name
        << YAML::Value << figure.value << YAML::Key << "source" << YAML::Value << figure.what
        << YAML::EndMap;
  out << YAML::EndMap;
}

}  // namespace

std::string rate_text(std::int64_t rate) { return fmt::format("{}B/s", rate); }

void write_plain_node(YAML::Emitter& out, const ImportedNode& node, bool with_islands) {
  if (with_islands) write_islands(out, node);
  const bool numa_known = std::none_of(node.gpus.begin(), node.gpus.end(),
                                       [](const ImportedGpu& gpu) { return gpu.numa < 0; });
  if (numa_known) {
    out << YAML::Key << "numa" << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (const ImportedGpu& gpu : node.gpus) out << gpu.numa;
    out << YAML::EndSeq;
  }
  if (node.host_memory_bytes > 0)
    out << YAML::Key << "host_memory" << YAML::Value << fmt::format("{}B", node.host_memory_bytes);
}

void write_hardware(YAML::Emitter& out, const ImportedNode& node,
                    const std::vector<std::vector<std::int32_t>>& nics_of_gpu, bool with_islands) {
  write_plain_node(out, node, with_islands);
  std::set<std::int32_t> used;
  for (const auto& nics : nics_of_gpu) used.insert(nics.begin(), nics.end());
  out << YAML::Key << "nics" << YAML::Value << YAML::BeginSeq;
  for (std::int32_t nic : used) {
    std::vector<std::int32_t> users;
    for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu)
      if (std::ranges::count(nics_of_gpu[gpu], nic) > 0)
        users.push_back(static_cast<std::int32_t>(gpu));
    const ImportedNic& card = node.nics[static_cast<std::size_t>(nic)];
    write_nic(out, card.name, card.rate, card.numa, users);
  }
  out << YAML::EndSeq;
  write_pcie(out, node, used);
}

void write_cards(YAML::Emitter& out, const std::vector<ImportedPort>& ports,
                 std::int64_t nics_per_gpu, std::int64_t nic_rate) {
  if (ports.empty()) {
    out << YAML::Key << "nics_per_gpu" << YAML::Value << nics_per_gpu;
    out << YAML::Key << "nic" << YAML::Value << rate_text(nic_rate);
    return;
  }
  out << YAML::Key << "nics" << YAML::Value << YAML::BeginSeq;
  for (std::size_t i = 0; i < ports.size(); ++i)
    write_nic(out, ports[i].nic, ports[i].rate > 0 ? ports[i].rate : nic_rate, kUnknown,
              {static_cast<std::int32_t>(static_cast<std::int64_t>(i) / nics_per_gpu)});
  out << YAML::EndSeq;
}

void write_measurements(YAML::Emitter& out, const std::vector<ImportedMeasurement>& measurements,
                        const LineRates& line, std::vector<std::string>& left_out) {
  std::map<std::string, Measured> efficiency;
  std::map<std::string, Measured> latency;
  for (const ImportedMeasurement& measured : measurements) {
    const std::int64_t most = measured.link == "nvlink" ? line.nvlink
                              : measured.link == "nic"  ? line.nics
                                                        : 0;
    if (measured.rate > 0 && most >= measured.rate)
      efficiency.try_emplace(measured.link,
                             Measured{fmt::format("{:.6f}", static_cast<double>(measured.rate) /
                                                                static_cast<double>(most)),
                                      measured.what});
    else if (measured.rate > 0)
      left_out.push_back(fmt::format("{} at {}: {}", measured.link,
                                     format_rate(static_cast<double>(measured.rate)),
                                     most == 0 ? "a topology has no rate of it to compare with"
                                               : "more than the line rate that is stated"));
    if (measured.latency_ps > 0 && (measured.link == "nic" || measured.link == "nvlink"))
      latency.try_emplace(measured.link,
                          Measured{fmt::format("{}ns", measured.latency_ps / 1000), measured.what});
  }
  write_figures(out, "efficiency", "value", efficiency);
  write_figures(out, "latency", "latency", latency);
}

}  // namespace transload
