// The live placement of experts in a job: `expert_table: [ids of the physical slots]`, one list per
// layer, or `{file: F}` with either. Internal to planner/job.
#pragma once

#include <span>
#include <string>

#include "common/yaml.h"
#include "models/engines/experts.h"
#include "models/model.h"

namespace transload {

// A list of ids serves all layers; a list of lists has one row per layer with experts, in order; a
// map has layer numbers as keys. Ids are checked when the table is applied.
ExpertTable parse_expert_table(const YamlValue& value, std::span<const LogicalTensor> tensors,
                               const std::string& base_folder);

}  // namespace transload
