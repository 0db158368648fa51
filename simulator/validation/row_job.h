// From a measurement to a job that can be planned: model, cluster, both layouts, strategy.
//
// Published rows leave things out. What must be assumed is written down, one sentence each; what
// cannot be assumed sensibly makes the row one that is skipped, with what is missing. The words of
// the rows are matched with our libraries by simulator/validation/names.yaml.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/validation/measurement.h"

namespace transload {

struct RowJob {
  std::string job_text;  // YAML of a whole-model job
  std::string strategy;  // as in --strategy, with its settings
  std::string framework;
  double nic_bytes_per_s = 0;  // line rate of the destination's NICs, for the naive predictor
  double destination_gpus = 0;
  std::vector<std::string> assumed;
  std::string missing;  // why there is no job; then the rest is empty
};

class RowJobMaker {
 public:
  RowJobMaker();  // reads names.yaml
  RowJob make(const Measurement& row) const;

 private:
  struct ModelName {
    std::string text, model, checkpoint;
  };
  struct GpuName {
    std::string text, nic, topology;
    std::int64_t node = 0, rack = 0;
  };
  struct StrategyName {
    std::string text, framework, method, strategy, discipline, staging;
  };
  struct Unmodelled {
    std::string method, why;
  };
  friend class RowJobBuilder;

  std::vector<ModelName> models_;
  std::vector<GpuName> gpus_;
  std::vector<StrategyName> strategies_;
  std::vector<Unmodelled> unmodelled_;
};

}  // namespace transload
