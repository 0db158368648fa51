// An operation in words, for error messages of a run.
#pragma once

#include <string>

#include "planner/schedule/plan_file.h"

namespace transload {

// "rank 3 -> rank 9, operation 17 (forward of 4.2 MB, tensor layers.0.mlp.w)"; one rank: "rank 3,
// ...".
std::string describe_operation(const Plan& plan, OpId op);

}  // namespace transload
