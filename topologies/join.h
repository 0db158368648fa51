// Several topologies as one cluster on one non-blocking network.
#pragma once

#include <vector>

#include "common/yaml.h"
#include "topologies/topology.h"

namespace transload {

// Nodes, GPUs, NICs, models and domains are renumbered in the order of `parts`; equal names of
// NVLink domains in two parts stay two domains. Throws InputError at `place` where parts differ in
// efficiency or latency: a Topology has one figure per kind of link.
Topology join(const std::vector<Topology>& parts, const YamlValue& place);

}  // namespace transload
