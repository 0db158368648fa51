// One side of a whole-model job: `engine`, `gpus`, `parallel` and the engine's own keys, as the
// sharded model that the engine's rules make of them. Internal to planner/job.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/yaml.h"
#include "models/engines/engines.h"
#include "models/model.h"

namespace transload {

struct EngineSideInput {
  const Model& model;
  std::span<const LogicalTensor> tensors;
  std::span<const Rank> ranks;
  std::string base_folder;  // of files that the side names
};

// Reads the engine's keys of `side` (all but gpus, nodes, dtype, commit) and finishes the map.
// InputError with the side's file and line where the engine cannot run so.
ShardedModel parse_engine_side(YamlMap& side, const EngineSideInput& input, bool is_source);

}  // namespace transload
