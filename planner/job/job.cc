#include "planner/job/job.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "planner/job/sections.h"
#include "topologies/loader.h"

namespace transload {
namespace {

// simulator/calibration has a file for each but `none`.
const std::vector<std::string_view> kFrameworks = {
    "none",           "nemo-rl",      "miles",    "verl",     "skyrl", "slime", "checkpoint-engine",
    "transferengine", "modelexpress", "prime-rl", "m2n-bench"};

bool moves_nothing(const ReshardProblem& problem) { return problem.destination_ranks.empty(); }

Job read_job(const YamlValue& root, const std::string& text, const std::string& name,
             const std::string& base_folder) {
  YamlMap map = root.map();
  Job job;
  job.name = std::filesystem::path(name).stem().string();
  job.text = text;
  job.topology = load_topology(map.required("topology"), base_folder);
  if (const auto without = map.optional("without"))
    job.membership = parse_membership(*without, job.topology);
  ProblemInput input;
  const bool tensor_job = map.has("tensors");
  if (tensor_job && map.has("model"))
    map.fail("expected either `tensors` (a tensor job) or `model` (a whole-model job), found both");
  if (!tensor_job && !map.has("model"))
    map.fail("expected `tensors` (a tensor job) or `model` (a whole-model job)");
  if (tensor_job) {
    input =
        parse_tensors(map.required("tensors"), map.optional("buffers"), job.topology, base_folder);
  } else {
    ModelJobPart part = parse_model_job(map, job.topology, base_folder);
    input = std::move(part.input);
    job.model_parameters = part.parameters;
    job.source_groups = std::move(part.source_groups);
    job.unplaced = std::move(part.unplaced);
    job.needs_conversion = std::move(part.needs_conversion);
    job.spanning_groups = std::move(part.spanning_groups);
    job.sides = std::move(part.sides);
  }
  if (const auto strategy = map.optional("strategy")) job.strategy = parse_strategy(*strategy);
  if (const auto options = map.optional("options")) job.options = parse_options(*options);
  if (const auto framework = map.optional("framework"))
    job.framework = framework->word_of(kFrameworks);
  const auto allow_empty = map.optional("allow_empty");
  const bool empty_allowed = allow_empty && allow_empty->boolean();
  map.finish();

  ReducedProblem reduced =
      reduced_problem(std::move(input), job.sides, job.membership, job.topology);
  job.problem = std::move(reduced.problem);
  job.missing = std::move(reduced.missing);
  if (moves_nothing(job.problem) && !empty_allowed)
    map.fail(
        "the job moves nothing: no destination rank holds an element (allow_empty: true permits "
        "it)");
  return job;
}

}  // namespace

std::vector<std::string> unplaced_names(const Job& job) {
  std::vector<std::string> names = job.unplaced;
  for (const MissingTensor& tensor : job.missing) names.push_back(tensor.name);
  return names;
}

Job job_from_text(const std::string& text, const std::string& name,
                  const std::string& base_folder) {
  return read_job(YamlValue::from_text(text, name), text, name, base_folder);
}

Job load_job(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream || std::filesystem::is_directory(path))
    throw InputError({path, 0, ""}, "cannot open the job file");
  std::ostringstream text;
  text << stream.rdbuf();
  return job_from_text(text.str(), path, std::filesystem::path(path).parent_path().string());
}

}  // namespace transload
