// One entry of `nodes:` in a topology file, as a NodeGroup.
//
// Short: {count: 32, gpus: 8, gpu: h100, nvlink: 450GB/s, nics_per_gpu: 1, nic: 50GB/s}.
// In full, as importers write it: `nics:` lists every NIC of a node with its rate and the GPUs that
// use it, `pcie:` the switches that GPUs and NICs share, `numa:` and `nvlink_islands:` where the
// GPUs are. docs/topologies.md has every key.
#pragma once

#include <string>

#include "common/yaml.h"
#include "topologies/link_costs.h"
#include "topologies/node_group.h"
#include "topologies/sourced_value.h"
#include "topologies/topology.h"

namespace transload {

// What the entries of one file share, and what reading them fills.
struct NodeReading {
  const Parameters& parameters;
  LinkCostSet costs;  // of the file; an entry may state its own
  double rate_scale = 1;
  std::optional<YamlValue> rate_scale_at;  // where it is stated
  std::int64_t planes = 1;
  std::string site;  // of nodes that state none
  DomainNames domains;
  Topology topology;
};

// Appends the nodes of one entry; `prefix` is its name among the constants. Throws InputError for
// unknown keys, rates that are not positive or come to less than 1 B/s, counts out of range, and
// NICs, islands or switches that name GPUs which do not exist or name one twice.
void read_node_group(const YamlValue& value, const std::string& prefix, NodeReading& reading);

// `line` after rate_scale, if links of that efficiency can work with it; `name` and `stated_at` are
// for blame.
std::int64_t scaled_rate(std::int64_t line, const LinkCosts& costs, const std::string& name,
                         const YamlValue& stated_at, const NodeReading& reading);

}  // namespace transload
