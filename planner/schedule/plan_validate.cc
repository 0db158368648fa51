#include "planner/schedule/plan_validate.h"

#include "planner/schedule/validate_rules.h"

namespace transload {

void validate_plan(const Plan& plan, const std::string& name) {
  const ValidateRules rules(plan, name);
  validate_tables(rules);
  validate_memory(rules);
  validate_operations(rules);
}

}  // namespace transload
