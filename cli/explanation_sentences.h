// The sentences of an explanation: what its figures mean. Internal to cli/explanation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/explanation.h"
#include "planner/schedule/access.h"

namespace transload {

// In the order in which a reader asks: how long, what binds, why more than that, which ports, where
// the bytes go, who waits. `facts` has all but its sentences.
std::vector<std::string> sentences_of(const Plan& plan, const Explanation& facts,
                                      const PlanTotals& totals,
                                      const std::optional<BoundReport>& bounds,
                                      const std::optional<SimulationResult>& simulation);

// Time of so many bytes over a link at its achieved rate; 0 where it costs no time.
double busy_seconds(const Plan& plan, std::uint32_t link, std::uint64_t bytes);

}  // namespace transload
