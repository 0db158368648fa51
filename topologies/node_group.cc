#include "topologies/node_group.h"

#include <fmt/format.h>

#include <algorithm>

namespace transload {
namespace {

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

// A name that stands in several blocks means one domain per block.
std::string domain_name(const NodeGroup& group, std::int64_t block) {
  return group.blocks > 1 ? fmt::format("{}{}", group.domain, block) : group.domain;
}

std::int32_t site_of(const std::string& name, Topology& topology) {
  for (std::size_t i = 0; i < topology.sites.size(); ++i)
    if (topology.sites[i].name == name) return narrow(static_cast<std::int64_t>(i));
  topology.sites.push_back({name});
  return narrow(static_cast<std::int64_t>(topology.sites.size())) - 1;
}

class NodeAppender {
 public:
  NodeAppender(const NodeGroup& group, std::int32_t site, Topology& topology)
      : group_(group), site_(site), topology_(topology) {}

  void append(std::int32_t shared_domain, std::int32_t block) {
    node_ = narrow(static_cast<std::int64_t>(topology_.nodes.size()));
    first_gpu_ = narrow(static_cast<std::int64_t>(topology_.gpus.size()));
    first_switch_ = narrow(static_cast<std::int64_t>(topology_.pcie_switches.size()));
    Node node{"", first_gpu_, narrow(group_.gpus), site_, block, group_.host_memory_bytes};
    if (!group_.names.empty()) node.name = group_.names[appended_];
    ++appended_;
    topology_.nodes.push_back(std::move(node));
    for (std::int64_t uplink : group_.pcie_uplinks)
      topology_.pcie_switches.push_back({node_, uplink});
    append_gpus(shared_domain);
    append_nics();
  }

 private:
  void append_gpus(std::int32_t shared_domain) {
    const std::int32_t islands =
        group_.island_of_gpu.empty()
            ? 1
            : *std::max_element(group_.island_of_gpu.begin(), group_.island_of_gpu.end()) + 1;
    const bool linked = group_.nvlink_rate > 0;
    std::int32_t first_domain = shared_domain;
    if (first_domain < 0) {
      first_domain = topology_.domain_count;
      topology_.domain_count += linked ? islands : narrow(group_.gpus);
    }
    for (std::int64_t index = 0; index < group_.gpus; ++index) {
      const auto i = static_cast<std::size_t>(index);
      Gpu gpu;
      gpu.node = node_;
      gpu.index = narrow(index);
      gpu.model = group_.model;
      gpu.nvlink_rate = group_.nvlink_rate;
      gpu.nvlink_costs = group_.nvlink_costs;
      if (!linked)
        gpu.domain = first_domain + narrow(index);
      else
        gpu.domain = first_domain + (group_.island_of_gpu.empty() ? 0 : group_.island_of_gpu[i]);
      if (!group_.numa_of_gpu.empty()) gpu.numa = group_.numa_of_gpu[i];
      if (!group_.switch_of_gpu.empty()) gpu.pcie_switch = in_node(group_.switch_of_gpu[i]);
      topology_.gpus.push_back(std::move(gpu));
    }
  }

  void append_nics() {
    for (std::size_t i = 0; i < group_.nics.size(); ++i) {
      const GroupNic& from = group_.nics[i];
      const auto index = narrow(static_cast<std::int64_t>(topology_.nics.size()));
      Nic nic;
      nic.name = from.name.empty() ? fmt::format("nic{}", i) : from.name;
      nic.node = node_;
      nic.rail = from.rail;
      nic.plane = from.plane;
      nic.rate = from.rate;
      nic.costs = group_.nic_costs;
      nic.numa = from.numa;
      nic.pcie_switch = in_node(from.pcie_switch);
      nic.source = from.source;
      topology_.nics.push_back(std::move(nic));
      for (std::int32_t gpu : from.gpus)
        topology_.gpus[static_cast<std::size_t>(first_gpu_ + gpu)].nics.push_back(index);
    }
  }

  std::int32_t in_node(std::int32_t pcie_switch) const {
    return pcie_switch < 0 ? -1 : first_switch_ + pcie_switch;
  }

  const NodeGroup& group_;
  std::int32_t site_;
  Topology& topology_;
  std::size_t appended_ = 0;
  std::int32_t node_ = 0;
  std::int32_t first_gpu_ = 0;
  std::int32_t first_switch_ = 0;
};

}  // namespace

std::vector<GroupNic> uniform_nics(std::int64_t gpus, std::int64_t nics_per_gpu,
                                   std::int64_t gpus_per_nic, std::int64_t planes,
                                   std::int64_t rate, const std::string& source) {
  std::vector<GroupNic> nics;
  for (std::int64_t first = 0; first < gpus; first += gpus_per_nic)
    for (std::int64_t own = 0; own < nics_per_gpu; ++own) {
      GroupNic nic;
      nic.rate = rate;
      nic.rail = narrow(static_cast<std::int64_t>(nics.size()));
      nic.plane = narrow(own % planes);
      nic.source = source;
      for (std::int64_t gpu = first; gpu < std::min(gpus, first + gpus_per_nic); ++gpu)
        nic.gpus.push_back(narrow(gpu));
      nics.push_back(std::move(nic));
    }
  return nics;
}

void append_nodes(const NodeGroup& group, DomainNames& domains, Topology& topology) {
  const std::int32_t site = site_of(group.site, topology);
  std::int32_t next_block = topology.nodes.empty() ? 0 : topology.nodes.back().block + 1;
  NodeAppender appender(group, site, topology);
  for (std::int64_t block = 0; block < group.blocks; ++block, ++next_block) {
    std::int32_t shared_domain = -1;
    if (!group.domain.empty()) {
      const auto [place, is_new] =
          domains.try_emplace(domain_name(group, block), topology.domain_count);
      if (is_new) ++topology.domain_count;
      shared_domain = place->second;
    }
    for (std::int64_t node = 0; node < group.count; ++node)
      appender.append(shared_domain, next_block);
  }
}

void name_parts(Topology& topology) {
  for (std::size_t node = 0; node < topology.nodes.size(); ++node)
    if (topology.nodes[node].name.empty()) topology.nodes[node].name = fmt::format("node{}", node);
  for (Nic& nic : topology.nics)
    nic.name =
        fmt::format("{}.{}", topology.nodes[static_cast<std::size_t>(nic.node)].name, nic.name);
}

}  // namespace transload
