// A topology as Graphviz text: nodes with their GPUs and NICs below the switches that join them.
#pragma once

#include <cstdint>
#include <string>

#include "topologies/topology.h"

namespace transload {

// The first `max_nodes` nodes are drawn in full; the others are one box with their number. GPUs of
// one NVLink domain have one colour; narrow up-links are red and carry their rate.
std::string topology_dot(const Topology& topology, std::int64_t max_nodes = 8);

}  // namespace transload
