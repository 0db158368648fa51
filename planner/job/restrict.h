// A job for some of its destinations: what a rolling refit does one wave at a time.
#pragma once

#include <span>

#include "planner/job/job.h"

namespace transload {

// The same job with only these destination ranks (ascending). The source stays whole.
Job only_destinations(const Job& job, std::span<const Rank> ranks);

}  // namespace transload
