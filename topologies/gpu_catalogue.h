// The GPU models that node groups name: what their memory can do. The figures are in gpus.yaml.
#pragma once

#include <vector>

#include "common/yaml.h"
#include "topologies/topology.h"

namespace transload {

// The model that `name` (the `gpu:` of a node group) stands for. Its constants are added to
// `constants`. Throws InputError at `name` for a model that the catalogue does not have.
GpuModel find_gpu_model(const YamlValue& name, std::vector<SourcedConstant>& constants);

}  // namespace transload
