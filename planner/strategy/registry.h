// The table of strategies: what each is called, what it refuses, and how it plans. Internal to
// planner/strategy; a new strategy is one file and one row in registry.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "planner/strategy/emit.h"
#include "planner/strategy/strategy.h"
#include "planner/strategy/unsupported.h"

namespace transload {

// Does the system convert weights on their way (docs/strategies.md)?
enum class Conversions : std::uint8_t { kRefused, kNotPlanned, kPlanned };

struct StrategyRow {
  StrategyInfo info;
  // Every limit that the job meets; nullptr: the strategy takes any job.
  std::vector<Unsupported> (*refuse)(const Job&, const PlanningInput&, const StrategyChoice&);
  // Completes the header and seals the plan. The job is one that the strategy does not refuse.
  Plan (*plan)(const Job&, const PlanningInput&, const StrategyChoice&, PlanHeader);
  // Other jobs with conversions are refused before `refuse` sees them.
  Conversions conversions = Conversions::kRefused;
};

std::span<const StrategyRow> strategy_rows();
const StrategyRow& strategy_row(std::string_view name);

// Who sends what to whom, for strategies that are nothing but that.
using AssignRoutes = RouteSet (*)(const Job&, const PlanningInput&, const StrategyChoice&,
                                  const Fabric&);

// Operations posted per port under `windows` unless the job's options say otherwise.
inline constexpr std::uint32_t kDefaultWindow = 8;

// Plans the routes of `assign` with the common chunks, order and staging. `window` is the system's
// own in-flight rule; 0: the job's, else kDefaultWindow.
Plan plan_routes(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                 PlanHeader header, AssignRoutes assign, std::uint32_t window);

// Cuts, orders and stages the routes and seals the plan, in a builder that has nothing but the
// fabric.
Plan seal_routes(PlanBuilder& builder, const Job& job, const PlanningInput& input,
                 const Fabric& fabric, const RouteSet& routes, const EmitOptions& options,
                 PlanHeader header);

// How the routes of a job are cut, ordered and staged under its options.
EmitOptions emit_options(const Job& job, Discipline discipline, std::uint32_t window);

}  // namespace transload
