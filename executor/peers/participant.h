// One process's share of a run among several: its ranks' memory, refits in step with the others,
// and what is left in the destinations when a refit fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/peers/company.h"
#include "executor/peers/tensor_states.h"
#include "executor/run.h"

namespace transload {

struct RankOutcome {
  std::int32_t rank = 0;
  TensorState state = TensorState::kOld;
  std::vector<TensorStateRow> tensors;  // empty for a rank that receives nothing
};

struct ParticipantOutcome {
  RunResult result;  // of the ranks hosted here; times of this process
  std::vector<RankOutcome> ranks;
  // Where the run failed: why, and what all survivors agree on (nothing before they have met).
  std::optional<std::string> failure;
  std::optional<Verdict> verdict;
  // Of a verified run that failed: where the bytes contradict the states. Empty: nowhere.
  std::vector<std::string> contradictions;
};

// Runs the plan's refits with the ranks hosted here; does not leave the company. A failed refit is
// an outcome, with the state of every tensor; InputError is thrown for a plan that cannot be run.
ParticipantOutcome run_share(const Plan& plan, const Hosting& hosting, Company& company,
                             const RunOptions& options);

}  // namespace transload
