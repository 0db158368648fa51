// The parts of a job file, each read by one function. Internal to planner/job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/yaml.h"
#include "planner/job/job.h"

namespace transload {

PlanOptions parse_options(const YamlValue& value);

// A tensor job's `tensors:` and `buffers:`; ranks are checked against the topology, files are
// looked for from `base_folder`.
ProblemInput parse_tensors(const YamlValue& tensors, const std::optional<YamlValue>& buffers,
                           const Topology& topology, const std::string& base_folder);

// The model part of a whole-model job: reads `model`, `dtype`, `mtp`, `source`, `destination`,
// `include`, `exclude` and `allow_unplaced` from `job`.
struct ModelJobPart {
  ProblemInput input;
  std::int64_t parameters = 0;  // elements of the tensors that are moved
  std::vector<RankGroups> source_groups;
  std::vector<std::string> unplaced;
  std::vector<NeedsConversion> needs_conversion;
  std::vector<SpanningGroups> spanning_groups;
  std::vector<SidePlacement> sides;
};
ModelJobPart parse_model_job(YamlMap& job, const Topology& topology,
                             const std::string& base_folder);

}  // namespace transload
