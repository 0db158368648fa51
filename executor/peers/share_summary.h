// What one process of a run has to say about its share, as JSON that the others can read, and what
// all of them come to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "executor/peers/participant.h"

namespace transload {

nlohmann::json summary_of(const ParticipantOutcome& outcome);

struct RunOfAll {
  RunResult result;
  std::optional<std::string> failure;
  std::optional<Verdict> verdict;
};

// Takes the summaries of all processes that are left. Times are those of the slowest process;
// the state is `new` where every rank's is.
RunOfAll combine(const std::vector<nlohmann::json>& summaries);

// The operation times of one process, and their place in those of all. A transfer's sender knows
// when it was posted there and when it began, its receiver the rest.
void write_times(const OpTimes& times, const std::string& path);
void merge_times(const Plan& plan, const Hosting& hosting, const std::string& path, OpTimes& all);

}  // namespace transload
