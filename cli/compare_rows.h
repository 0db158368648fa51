// One job under several strategies: plans and simulates each under two disciplines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan_cache.h"
#include "cli/prediction.h"
#include "cli/progress.h"
#include "planner/strategy/strategy.h"

namespace transload {

struct CompareRow {
  StrategyChoice strategy;
  // Why the strategy cannot do this job; then there is nothing else. Options that cannot be met are
  // one entry in the planner's words.
  std::vector<Unsupported> unsupported;
  double refit_s = 0;  // simulated, as are all times here but ideal_s
  double ideal_s = 0;  // the most loaded port at achieved rates
  std::optional<double> ratio_to_bound;
  std::optional<double> other_discipline_s;  // nothing where it cannot be planned
  std::uint64_t network_bytes = 0;
  std::string bottleneck;
  std::string in_flight_rule;
  std::optional<ExposedPhases> phases;
  std::vector<std::string> assumptions;  // fitted and assumed constants
  bool cached = false;                   // the plan came out of the cache
};

struct Comparison {
  Discipline discipline = Discipline::kWindows;
  Discipline other = Discipline::kGroups;
  std::vector<CompareRow> rows;  // in the order of the strategies
};

// Two simulations run at a time where the machine has two processors. InputError where no strategy
// can do the job.
Comparison compare_strategies(const Job& job, const PlanningInput& input,
                              const std::vector<StrategyChoice>& choices, Discipline discipline,
                              const PlanCache& cache, Progress& progress);

}  // namespace transload
