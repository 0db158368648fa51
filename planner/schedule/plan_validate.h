// Structural validation of a plan that came from outside: every index points inside its table,
// every enumerator exists, every CSR rises. After it, readers may index without checking. Whether
// the plan is *right* is a different question, answered by planner/schedule/check.
#pragma once

#include <string>

#include "planner/schedule/plan_file.h"

namespace transload {

// Throws InputError naming `name`, the table, the row, and what was expected.
void validate_plan(const Plan& plan, const std::string& name);

}  // namespace transload
