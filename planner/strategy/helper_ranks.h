// Who may lend its ports to `transload`: options.helpers of a job. Internal to planner/strategy.
#pragma once

#include <vector>

#include "planner/job/job.h"
#include "planner/strategy/transload/port_shares.h"

namespace transload {

// Ranks outside the job whose ports options.helpers adds, ascending. InputError for a rank that the
// topology does not have.
std::vector<Rank> helper_ranks(const Job& job);

// By rank: whether it may land or send for others.
MayHelp may_help(const Job& job);

}  // namespace transload
