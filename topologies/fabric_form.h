// The `fabric:` of a topology file: which switches the NICs hang at, and how wide each is upwards.
//
// Either a kind with a few numbers, from which the switches of any number of nodes follow, or a
// list of switches as an importer writes it.
//   {kind: non-blocking}                       one switch for all NICs
//   {kind: leaf-spine, unit: 16}               every 16 nodes share a leaf
//   {kind: rail-optimised, unit: 32}           NIC r of every 32 nodes on a leaf of its own
//   {kind: rail-only, unit: 32}                the same, and no switch joins two rails
//   {kind: switches, switches: [{name, parent, uplink, nodes: [...] or nics: [...]}, ...]}
// with `oversubscription` (what hangs at a leaf over its up-link), `pod` (units below one spine
// layer; above it a core), `core_oversubscription`, `planes`, and the switch counts of a published
// design as `published: {source, nics_per_node, units: [{units: 1, tiers: [8, 4]}, ...]}`.
#pragma once

#include <functional>
#include <optional>

#include "common/yaml.h"
#include "topologies/link_costs.h"
#include "topologies/sourced_value.h"
#include "topologies/topology.h"

namespace transload {

// What the reader of `fabric:` needs of the file around it.
struct FabricContext {
  const Parameters& parameters;
  const LinkCosts& switch_costs;  // latency of a switch
  double rate_scale = 1;
};

// How many planes the NICs of a GPU are spread over; 1 without `fabric:`. Read before the nodes.
std::int64_t read_planes(const std::optional<YamlValue>& fabric, const Parameters& parameters);

// Makes the switches, hangs all NICs at them, and writes down constants with their sources. Nodes
// without `fabric:` share one switch per site. Throws InputError for an oversubscription that the
// kind cannot have, nodes and NICs that do not exist, stand twice, or hang nowhere, and parents
// that are unknown or in a circle.
void attach_fabric(const std::optional<YamlValue>& fabric, const FabricContext& context,
                   Topology& topology);

// The `links:` between sites: [{between: [a, b], rate, latency}].
void read_wan_links(const YamlValue& links, double rate_scale, Topology& topology);

}  // namespace transload
