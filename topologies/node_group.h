// Equal nodes, as one line of a topology file states them, and their expansion into a Topology.
//
// A NodeGroup is checked and final: rates are positive and scaled, the model is in the topology.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "topologies/topology.h"

namespace transload {

// More would not fit the machine that plans, and 2^20 GPUs are past any cluster there is.
inline constexpr std::int64_t kMaxGpus = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaxNics = std::int64_t{1} << 20;

struct NodeGroup {
  std::int64_t blocks = 1;  // `count` nodes stand this many times
  std::int64_t count = 1;
  std::int64_t gpus = 0;  // of one node
  std::int32_t model = 0;
  std::int64_t nvlink_rate = 0;
  std::int64_t nics_per_gpu = 1;
  std::int64_t nic_rate = 0;
  std::string nic_source;
  std::string domain;  // empty: every node is one
};

// Domains by the name that groups give them, for groups that share one.
using DomainNames = std::map<std::string, std::int32_t>;

void append_nodes(const NodeGroup& group, DomainNames& domains, Topology& topology);

// Numbers the names of nodes and NICs through the whole cluster: "node12", "node12.nic3".
void name_parts(Topology& topology);

}  // namespace transload
