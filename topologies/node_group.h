// Equal nodes, as one entry of a topology file states them, and their expansion into a Topology.
//
// A NodeGroup is checked and final: rates are positive and scaled, the model is in the topology.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "topologies/topology.h"

namespace transload {

// More would not fit the machine that plans, and 2^20 GPUs are past any cluster there is.
inline constexpr std::int64_t kMaxGpus = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxNics = std::int64_t{1} << 20;

// A NIC of every node of a group.
struct GroupNic {
  std::string name;       // empty: "nic" and its number
  std::int64_t rate = 0;  // line
  std::int32_t rail = 0;
  std::int32_t plane = 0;
  std::int32_t numa = -1;
  std::int32_t pcie_switch = -1;   // index into NodeGroup::pcie_uplinks
  std::vector<std::int32_t> gpus;  // indices within the node that use it; empty: none does
  std::string source;
};

struct NodeGroup {
  std::int64_t blocks = 1;  // `count` nodes stand this many times
  std::int64_t count = 1;
  std::vector<std::string> names;  // of all nodes; empty: numbered
  std::string site;
  std::int64_t gpus = 0;  // of one node
  std::int32_t model = 0;
  std::int64_t nvlink_rate = 0;
  std::int32_t nvlink_costs = 0;
  std::int32_t nic_costs = 0;
  std::string domain;                       // empty: every node is one, or its islands are
  std::vector<std::int32_t> island_of_gpu;  // within a node; empty: one island
  std::vector<std::int32_t> numa_of_gpu;    // empty: unknown
  std::vector<std::int32_t> switch_of_gpu;  // index into pcie_uplinks, -1: none; empty: unknown
  std::vector<GroupNic> nics;
  std::vector<std::int64_t> pcie_uplinks;  // of the node's PCIe switches
  std::int64_t host_memory_bytes = 0;
};

// `nics_per_gpu` NICs for each GPU, or one for every `gpus_per_nic` GPUs: NIC i is on rail i, its
// plane is its number among the NICs of its GPU, modulo `planes`.
std::vector<GroupNic> uniform_nics(std::int64_t gpus, std::int64_t nics_per_gpu,
                                   std::int64_t gpus_per_nic, std::int64_t planes,
                                   std::int64_t rate, const std::string& source);

// Domains by the name that groups give them, for groups that share one.
using DomainNames = std::map<std::string, std::int32_t>;

// Adds the nodes. NICs get no leaf yet: topologies/fabric_form.h attaches them.
void append_nodes(const NodeGroup& group, DomainNames& domains, Topology& topology);

// Numbers the names of nodes that have none, and puts node names in front of those of NICs:
// "node12", "node12.nic3".
void name_parts(Topology& topology);

}  // namespace transload
