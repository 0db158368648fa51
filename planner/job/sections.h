// The parts of a job file, each read by one function. Internal to planner/job.
#pragma once

#include <string>
#include <vector>

#include "common/yaml.h"
#include "planner/job/job.h"

namespace transload {

PlanOptions parse_options(const YamlValue& value);

// A tensor job's `tensors:`; ranks are checked against the topology.
ProblemInput parse_tensors(const YamlValue& value, const Topology& topology);

// The model part of a whole-model job: reads `model`, `dtype`, `mtp`, `source`, `destination` from
// `job`.
struct ModelJobPart {
  ProblemInput input;
  std::int64_t parameters = 0;
};
ModelJobPart parse_model_job(YamlMap& job, const Topology& topology,
                             const std::string& base_folder);

}  // namespace transload
