// How busy links and lanes were, and which of them holds the refit back.
#pragma once

#include <string>
#include <vector>

#include "simulator/replay/operation_cost.h"
#include "simulator/simulate.h"

namespace transload {

// Links that operations used, in the order of the plan's links.
std::vector<LinkUse> link_use(const Plan& plan, const OperationCosts& costs, double refit_s);

// The link, or the lane with its launches, that was busy for the largest part of the refit, in
// words; of equals the link with the least number. Empty for a plan without operations that take
// time.
std::string bottleneck(const Plan& plan, const OperationCosts& costs, double refit_s);

}  // namespace transload
