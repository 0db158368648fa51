#include "topologies/node_group.h"

#include <fmt/format.h>

namespace transload {
namespace {

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

// A name that stands in several blocks means one domain per block.
std::string domain_name(const NodeGroup& group, std::int64_t block) {
  return group.blocks > 1 ? fmt::format("{}{}", group.domain, block) : group.domain;
}

void append_node(const NodeGroup& group, std::int32_t shared_domain, Topology& topology) {
  const auto node = narrow(static_cast<std::int64_t>(topology.nodes.size()));
  topology.nodes.push_back(
      {"", narrow(static_cast<std::int64_t>(topology.gpus.size())), narrow(group.gpus)});
  const bool domain_per_gpu = group.nvlink_rate == 0;
  std::int32_t domain = shared_domain;
  if (domain < 0 && !domain_per_gpu) domain = topology.domain_count++;
  for (std::int64_t index = 0; index < group.gpus; ++index) {
    Gpu gpu;
    gpu.node = node;
    gpu.index = narrow(index);
    gpu.domain = domain_per_gpu ? topology.domain_count++ : domain;
    gpu.model = group.model;
    gpu.nvlink_rate = group.nvlink_rate;
    for (std::int64_t own = 0; own < group.nics_per_gpu; ++own) {
      gpu.nics.push_back(narrow(static_cast<std::int64_t>(topology.nics.size())));
      topology.nics.push_back(
          {"", node, narrow(index * group.nics_per_gpu + own), group.nic_rate, group.nic_source});
    }
    topology.gpus.push_back(std::move(gpu));
  }
}

}  // namespace

void append_nodes(const NodeGroup& group, DomainNames& domains, Topology& topology) {
  for (std::int64_t block = 0; block < group.blocks; ++block) {
    std::int32_t shared_domain = -1;
    if (!group.domain.empty()) {
      const auto [place, is_new] =
          domains.try_emplace(domain_name(group, block), topology.domain_count);
      if (is_new) ++topology.domain_count;
      shared_domain = place->second;
    }
    for (std::int64_t node = 0; node < group.count; ++node)
      append_node(group, shared_domain, topology);
  }
}

void name_parts(Topology& topology) {
  for (std::size_t node = 0; node < topology.nodes.size(); ++node)
    topology.nodes[node].name = fmt::format("node{}", node);
  for (Nic& nic : topology.nics) nic.name = fmt::format("node{}.nic{}", nic.node, nic.rail);
}

}  // namespace transload
