// The strategy `transload` as a whole: several plans of one job, of which the fastest is kept.
//
// No single rule is best for every job. One copy per domain, spread over all NICs, wins where bytes
// count; where sources are short, chains of domains that forward while chunks land; where a job is
// over in a few launches, an extra hop costs more than it saves. So jobs that are small enough are
// planned by each of a few rules, and the planner's own clock (planner/schedule/fluid_time.h) says
// which plan is through first. Of equal plans the first in the order of the rules is kept. Large
// jobs, where trying would cost more than it gains, are planned once: by chains where they load no
// port much more than relays would, else with relays, and with neither where sources are not short.
#pragma once

#include "planner/strategy/registry.h"

namespace transload {

// As StrategyRow::plan. The plan's strategy notes name the rule where it is not the plain one.
Plan plan_transload(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                    PlanHeader header);

}  // namespace transload
