// Random small plans, right by construction: for properties that must hold for any layout.
#pragma once

#include <random>

#include "planner/schedule/plan_file.h"

namespace transload::testing {

// Ranks 0 and 1 hold what ranks 1, 2 and 3 want (rank 1 is on both sides; two ranks to a node).
// Ranges of one to three tensors of up to three even dimensions are cut once or twice along random
// dimensions; some ranges are other names of an earlier one. Shards are dense, or padded or
// interleaved views (random_memory.h) that mostly share buffers with other ranges; gaps of
// destination buffers are left alone or filled with zeros. Chunks go through two send and two land
// slots a rank; windows or groups (one chunk per group).
Plan random_plan(std::mt19937_64& random);

}  // namespace transload::testing
