// One small JSON file per rank about a run, for whoever watches the ranks.
#pragma once

#include <optional>
#include <string>

#include "executor/peers/participant.h"
#include "planner/schedule/plan_file.h"

namespace transload {

// Writes rank-R.json for every rank that takes part: rank, state ("new" or "torn"; null for ranks
// that receive nothing), bytes (that it receives), refit_s (null where the run failed), digest.
// Each file is replaced whole. InputError if that is not possible.
void write_rank_reports(const Plan& plan, const std::string& state, std::optional<double> refit_s,
                        const std::string& folder);

// The same for the ranks of one process among several, with the state that each of them is in; of a
// run that failed also epoch, dead processes, the reason, every tensor's state by name, and where
// the bytes contradict it (verified runs).
void write_rank_reports(const Plan& plan, const ParticipantOutcome& outcome,
                        const std::string& folder);

}  // namespace transload
