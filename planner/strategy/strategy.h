// Strategies by name: from a job to its schedule graph.
//
// Each published system is one entry; docs/strategies.md says what each does and where the facts
// are from.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "planner/bound/bound.h"
#include "planner/demand/demand.h"
#include "planner/job/job.h"
#include "planner/schedule/plan_file.h"
#include "planner/strategy/unsupported.h"

namespace transload {

struct StrategyInfo {
  std::string_view name;
  std::string_view version;  // "v0", or empty
  std::string_view essence;
  std::string_view in_flight_rule;
};
std::span<const StrategyInfo> strategies();
const StrategyInfo& strategy_info(std::string_view name);

// What planning needs of a job and several strategies can share.
struct PlanningInput {
  Demand demand;
  BoundReport bounds;
  // The bound of what travels as the demand has it. Above that of `bounds` where receivers convert
  // to a narrower type.
  std::int64_t wire_bound_ps = 0;
};
PlanningInput prepare(const Job& job);

// The discipline of a job: as asked, else `groups` where the executor is NCCL, else `windows`.
std::string executor_of(const Job& job);
Discipline discipline_of(const Job& job);

// Makes and seals the plan. UnsupportedError where the system refuses the job (`refusals` in
// planner/strategy/unsupported.h), InputError where the options cannot be met.
Plan make_plan(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
               Discipline discipline);

// The job's own strategy and discipline.
Plan make_plan(const Job& job);

// Time of the plan's most loaded port at achieved rates, with perfect overlap: what its assignment
// of bytes could reach at best. Seconds.
double ideal_seconds(const Plan& plan);

}  // namespace transload
