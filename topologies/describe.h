// A topology in a few lines of prose: what `transload topology show` prints above the constants.
//
// The numbers are those of the topology as loaded, so after overrides and `rate_scale`.
#pragma once

#include <string>

#include "topologies/topology.h"

namespace transload {

// Several lines, the last with its newline. Equal nodes in a row share a line.
std::string describe_topology(const Topology& topology);

}  // namespace transload
