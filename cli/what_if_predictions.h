// The what-ifs of a job, each planned and predicted: what the refit would take then.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planner/job/what_ifs.h"
#include "planner/strategy/strategy.h"

namespace transload {

struct PredictedWhatIf {
  WhatIf what_if;  // `impossible` also says why its job could not be planned
  double refit_s = 0;
  double bound_s = 0;
};

struct PredictOptions {
  bool simulate = false;  // SimGrid instead of the closed-form estimate
  std::string base_folder;
  std::vector<StrategyChoice> rivals;  // the best of these stands as one what-if
  std::function<void(const std::string&)> progress;
};

// Plans and predicts all what-ifs of `job` and its rivals, two at a time where the machine has two
// processors and nothing is simulated; possible ones by their time, the others last.
std::vector<PredictedWhatIf> predicted_what_ifs(const Job& job, Discipline discipline,
                                                const PredictOptions& options);

// `what_if` and `not_possible` of `explain`.
nlohmann::json what_if_json(const std::vector<PredictedWhatIf>& what_ifs, double refit_s,
                            bool simulated);
nlohmann::json not_possible_json(const std::vector<PredictedWhatIf>& what_ifs);
std::string what_if_text(const std::vector<PredictedWhatIf>& what_ifs, double refit_s,
                         bool simulated);

}  // namespace transload
