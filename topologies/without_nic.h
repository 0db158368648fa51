// A cluster with NICs that are down: what `without: {nics: [...]}` of a job does to its topology.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "topologies/topology.h"

namespace transload {

// The NIC that "NODE:NIC" names: NODE by its name or number, NIC by its name within the node or its
// number there ("node3:nic5", "3:5", "srv07:mlx5_2"). InputError saying which of both does not
// exist, with the nearest name.
std::int32_t find_nic(const Topology& topology, const std::string& node_and_nic);

// Takes the NICs from the GPUs that use them; their rows stay, so numbers keep their meaning. A GPU
// that is left without any shares the NICs of its nearest NVLink neighbour that still has some (of
// its own node where there is one, the one with the fewest users first, then the nearest index):
// its bytes load the neighbour's NIC; the NVLink hop to it, several times as fast, costs nothing
// here. A GPU without such a neighbour keeps none.
void remove_nics(Topology& topology, std::span<const std::int32_t> nics);

}  // namespace transload
