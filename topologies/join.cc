#include "topologies/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace transload {
namespace {

std::int32_t model_index(const GpuModel& model, std::vector<GpuModel>& models) {
  for (std::size_t i = 0; i < models.size(); ++i)
    if (models[i] == model) return static_cast<std::int32_t>(i);
  models.push_back(model);
  return static_cast<std::int32_t>(models.size() - 1);
}

void append_constants(const std::vector<SourcedConstant>& from, const std::string& part,
                      std::vector<SourcedConstant>& to) {
  for (const SourcedConstant& constant : from)
    to.push_back({fmt::format("{}.{}", part, constant.name), constant.value, constant.source});
}

std::int32_t size_of(const auto& rows) { return static_cast<std::int32_t>(rows.size()); }

// Numbers of a part's rows among those of the whole.
struct Offsets {
  std::int32_t node;
  std::int32_t gpu;
  std::int32_t nic;
  std::int32_t costs;
  std::int32_t pcie_switch;
  std::int32_t block;
};

std::int32_t moved(std::int32_t index, std::int32_t by) { return index < 0 ? index : index + by; }

// Parts at the site of one name are one site: the switches that end links between sites are one.
std::vector<std::int32_t> merge_sites(const Topology& part, Topology& whole) {
  std::vector<std::int32_t> sites;
  for (const Site& site : part.sites) {
    std::int32_t at = 0;
    while (at < size_of(whole.sites) && whole.sites[static_cast<std::size_t>(at)].name != site.name)
      ++at;
    if (at == size_of(whole.sites)) whole.sites.push_back(site);
    sites.push_back(at);
  }
  return sites;
}

// The core of a site, in front of the cores of its parts: what joins them is as wide as they are.
void join_cores(Topology& whole) {
  for (std::int32_t site = 0; site < size_of(whole.sites); ++site) {
    std::vector<std::int32_t> cores;
    for (std::int32_t i = 0; i < size_of(whole.switches); ++i) {
      const Switch& at = whole.switches[static_cast<std::size_t>(i)];
      if (at.site == site && at.gateway) cores.push_back(i);
    }
    if (cores.size() < 2) continue;
    Switch core;
    core.name = whole.sites[static_cast<std::size_t>(site)].name.empty()
                    ? "core"
                    : whole.sites[static_cast<std::size_t>(site)].name + ".core";
    core.site = site;
    core.gateway = true;
    for (std::int32_t i : cores) {
      Switch& below = whole.switches[static_cast<std::size_t>(i)];
      below.gateway = false;
      below.parent = size_of(whole.switches);
      core.tier = std::max(core.tier, below.tier + 1);
      core.latency_ps = std::max(core.latency_ps, below.latency_ps);
    }
    whole.switches.push_back(std::move(core));
  }
}

// Reports name switches: a name that two parts use gets the part's number in front, as constants
// do.
void tell_apart(const std::vector<Topology>& parts, Topology& whole) {
  std::map<std::string, int> uses;
  for (const Switch& at : whole.switches) ++uses[at.name];
  std::size_t next = 0;
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (std::size_t i = 0; i < parts[part].switches.size(); ++i) {
      std::string& name = whole.switches[next++].name;
      if (uses[name] > 1) name = fmt::format("[{}].{}", part, name);
    }
}

void append_gpus(const Topology& part, const Offsets& first, Topology& whole) {
  std::vector<std::int32_t> models;
  for (const GpuModel& model : part.gpu_models)
    models.push_back(model_index(model, whole.gpu_models));
  for (Gpu gpu : part.gpus) {
    gpu.node += first.node;
    gpu.domain += whole.domain_count;
    gpu.model = models[static_cast<std::size_t>(gpu.model)];
    gpu.nvlink_costs += first.costs;
    gpu.pcie_switch = moved(gpu.pcie_switch, first.pcie_switch);
    for (std::int32_t& nic : gpu.nics) nic += first.nic;
    whole.gpus.push_back(std::move(gpu));
  }
  whole.domain_count += part.domain_count;
}

void append_hardware(const Topology& part, Topology& whole) {
  const Offsets first{
      size_of(whole.nodes),         size_of(whole.gpus),
      size_of(whole.nics),          size_of(whole.link_costs),
      size_of(whole.pcie_switches), whole.nodes.empty() ? 0 : whole.nodes.back().block + 1};
  const std::vector<std::int32_t> sites = merge_sites(part, whole);
  const auto first_switch = size_of(whole.switches);
  whole.link_costs.insert(whole.link_costs.end(), part.link_costs.begin(), part.link_costs.end());
  for (Node node : part.nodes) {
    node.first_gpu += first.gpu;
    node.site = sites[static_cast<std::size_t>(node.site)];
    node.block += first.block;
    whole.nodes.push_back(std::move(node));
  }
  append_gpus(part, first, whole);
  for (Nic nic : part.nics) {
    nic.node += first.node;
    nic.costs += first.costs;
    nic.leaf += first_switch;
    nic.pcie_switch = moved(nic.pcie_switch, first.pcie_switch);
    whole.nics.push_back(std::move(nic));
  }
  for (PcieSwitch pcie : part.pcie_switches) {
    pcie.node += first.node;
    whole.pcie_switches.push_back(pcie);
  }
  for (Switch at : part.switches) {
    at.parent = moved(at.parent, first_switch);
    at.site = sites[static_cast<std::size_t>(at.site)];
    whole.switches.push_back(std::move(at));
  }
  for (WanLink link : part.wan_links) {
    link.site_a = sites[static_cast<std::size_t>(link.site_a)];
    link.site_b = sites[static_cast<std::size_t>(link.site_b)];
    whole.wan_links.push_back(link);
  }
}

}  // namespace

Topology join(const std::vector<Topology>& parts) {
  Topology whole = parts.front();
  whole.constants.clear();
  append_constants(parts.front().constants, "[0]", whole.constants);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Topology& part = parts[i];
    append_hardware(part, whole);
    append_constants(part.constants, fmt::format("[{}]", i), whole.constants);
    whole.name += " + " + part.name;
    whole.unit_test_rates = whole.unit_test_rates || part.unit_test_rates;
    if (whole.fabric_kind != part.fabric_kind) whole.fabric_kind = "joined";
    whole.published_switches = {};
  }
  tell_apart(parts, whole);
  join_cores(whole);
  return whole;
}

}  // namespace transload
