// Proof that what a job says about memory makes sense: tensors that share a buffer do not overlap,
// stay inside it, and leave no byte that nobody named padding.
#pragma once

#include "planner/layout/problem.h"

namespace transload {

// Looks at every shared buffer of every rank, and at every strided buffer of a tensor's own, run by
// run. InputError naming buffer, rank and tensors. Source tensors that are two names of one thing
// count once.
void validate_memory(const ReshardProblem& problem);

}  // namespace transload
