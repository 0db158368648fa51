// What `transload topology show` and `import` print as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "topologies/topology.h"

namespace transload {

nlohmann::json topology_json(const Topology& topology);

}  // namespace transload
