// Several topologies as one cluster.
#pragma once

#include <vector>

#include "topologies/topology.h"

namespace transload {

// Nodes, GPUs, NICs, models, switches and domains are renumbered in the order of `parts`; equal
// names of NVLink domains in two parts stay two domains, equal names of sites are one site. Parts
// at one site (or at none) are joined by a core that is as wide as they are; parts at different
// sites only by links between sites.
Topology join(const std::vector<Topology>& parts);

}  // namespace transload
