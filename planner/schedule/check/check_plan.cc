#include "planner/schedule/check/check_plan.h"

#include "planner/schedule/check/checks.h"

namespace transload {

CheckReport check_plan(const Plan& plan, std::size_t max_violations) {
  Findings findings(max_violations);
  // Order first: the other checks explain a plan whose order is broken less well.
  for (const auto check :
       {check_order, check_ports, check_issue_limits, check_groups, check_slots, check_held_sources,
        check_conversions, check_coverage, check_destination_memory})
    if (!findings.full()) check(plan, findings);
  return findings.take();
}

}  // namespace transload
