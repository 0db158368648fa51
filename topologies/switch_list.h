// A fabric as a list of switches, the form that importers write: each with its parent, the rate of
// its up-link, and the nodes or NICs that hang at it.
#pragma once

#include "common/yaml.h"
#include "topologies/fabric_form.h"

namespace transload {

// `[{name, parent, uplink, latency, nodes: ["srv[1-8]"], nics: ["srv1.mlx5_0"]}, ...]`. A switch
// without `uplink` is never the bottleneck. Errors as attach_fabric.
void attach_switch_list(const YamlValue& list, const FabricContext& context, Topology& topology);

}  // namespace transload
