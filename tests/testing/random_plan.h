// Random small plans, right by construction: for properties that must hold for any layout.
#pragma once

#include <random>

#include "planner/schedule/plan_file.h"

namespace transload::testing {

// Ranks 0 and 1 hold what ranks 1, 2 and 3 want (rank 1 is on both sides; two ranks to a node).
// Ranges of one to three tensors of up to three even dimensions are cut once or twice along random
// dimensions; shards are dense, or views with padding into one buffer for the range. Chunks go
// through two send and two land slots a rank; windows or groups (one chunk per group).
Plan random_plan(std::mt19937_64& random);

}  // namespace transload::testing
