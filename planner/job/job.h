// Reading a job: one YAML (or JSON) file that names tensors or a model, both layouts and the
// topology.
//
// Two forms (docs/jobs.md): a *tensor job* gives exact layouts of a few tensors; a *whole-model
// job* names a model and lets the engines' rules lay it out. Both end as a Job: a topology, a
// reshard problem, and what the user asked of the planner. Everything that is wrong with the input
// is refused here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/yaml.h"
#include "planner/job/membership.h"
#include "planner/job/spanning_groups.h"
#include "planner/layout/problem.h"
#include "planner/schedule/plan.h"
#include "topologies/topology.h"

namespace transload {

// Who may land or send bytes that it neither wants nor holds (options.helpers): the job's ranks
// (default), all GPUs of their NVLink domains, exactly these ranks, or nobody. Ranks outside the
// job get ports, in plans and in bounds.
struct HelperChoice {
  enum class Kind : std::uint8_t { kJob, kDomain, kRanks, kNobody };
  Kind kind = Kind::kJob;
  std::vector<Rank> ranks;  // of kRanks, ascending
};

// Empty optionals are `auto`.
struct PlanOptions {
  std::optional<std::int64_t> staging_bytes;  // per rank, all classes but bucket buffers
  std::optional<std::int64_t> chunk_bytes;
  std::optional<Discipline> discipline;
  std::optional<std::uint32_t> window;   // W: posted and unfinished operations per port
  std::optional<std::uint32_t> colours;  // G: colours per issue group
  std::string executor = "auto";         // auto | nccl | host
  HelperChoice helpers;
  std::optional<std::int64_t> max_peers;  // of a rank over the network; empty: no limit
};

struct StrategyChoice {
  std::string name = "transload";
  std::optional<std::int64_t> bucket_bytes;  // size of a packed bucket, where there are buckets
  std::string mode;                          // of a strategy that has several; empty: its default
};

// A tensor whose live value in the destination is computed from what the job writes.
struct NeedsConversion {
  std::string tensor;
  std::string what;  // "destination: absorbed into W_UK_T and W_UV after load"
};

struct Job {
  std::string name;  // file name without folder and ending
  std::string text;  // as read
  Topology topology;
  ReshardProblem problem;
  StrategyChoice strategy;
  PlanOptions options;
  std::string framework = "none";  // whose host costs a prediction adds
  // Groups of the source's ranks, ascending by rank; empty for tensor jobs and engines without.
  std::vector<RankGroups> source_groups;
  std::int64_t model_parameters = 0;  // elements of the model's moved parts; 0 for tensor jobs
  // Whole-model jobs: tensors of the source without a place on the destination, allowed by name;
  // and tensors that arrive in load layout.
  std::vector<std::string> unplaced;
  std::vector<NeedsConversion> needs_conversion;
  std::vector<SpanningGroups> spanning_groups;
  std::vector<SidePlacement> sides;  // of a whole-model job: the source first
  Membership membership;
  std::vector<MissingTensor> missing;  // left out, because no living rank holds them
};

// All tensors that this refit leaves as they are: allowed by name, or because no living rank holds
// them.
std::vector<std::string> unplaced_names(const Job& job);

// Throws InputError with file, line and field, or tensor and rank.
Job load_job(const std::string& path);
Job job_from_text(const std::string& text, const std::string& name, const std::string& base_folder);

// `name`, `name:mode` or `{name: settings}`; used by jobs and by --strategy.
StrategyChoice parse_strategy(const YamlValue& value);

}  // namespace transload
