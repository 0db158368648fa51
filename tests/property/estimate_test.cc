// The planner's own clock against the simulator, on whole jobs: what chooses among plans, and what
// `estimate_s` says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/error.h"
#include "common/units.h"
#include "planner/schedule/operation_times.h"
#include "planner/strategy/strategy.h"
#include "simulator/estimate.h"
#include "simulator/replay/operation_cost.h"
#include "simulator/simulate.h"
#include "tests/testing/long_job.h"

namespace transload {
namespace {

// Every plan of a job under both disciplines.
template <class Visit>
void for_each_plan(std::uint64_t seed, const testing::LongJobLimits& limits, Visit&& visit) {
  std::mt19937_64 random(seed);
  const Job job = job_from_text(testing::long_job(random, limits), "long.yaml", "");
  const PlanningInput input = prepare(job);
  for (const StrategyInfo& info : strategies())
    for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      StrategyChoice choice;
      choice.name = info.name;
      if (!refusals(job, input, choice).empty()) continue;
      try {
        const Plan plan = make_plan(job, input, choice, discipline);
        if (plan.operations() > 0 && plan.operations() <= kMostEstimatedOperations) visit(plan);
      } catch (const InputError&) {
        continue;  // it finds no room for its staging
      }
    }
}

void expect_within_three_percent(std::uint64_t first, std::uint64_t count,
                                 const testing::LongJobLimits& limits) {
  double least = 1;
  double most = 1;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    for_each_plan(seed, limits, [&](const Plan& plan) {
      const double simulated = simulate(plan).refit_s;
      const double ratio = simulated > 0 ? estimate_seconds(plan) / simulated : 1;
      EXPECT_NEAR(ratio, 1, 0.03) << "seed " << seed << ", " << plan.header().strategy << ", "
                                  << name_of(plan.header().discipline);
      least = std::min(least, ratio);
      most = std::max(most, ratio);
    });
  fmt::print("  estimate over simulated: {:.4f} to {:.4f}\n", least, most);
}

TEST(Estimate, IsWithinThreePercentOfTheSimulatorOnSmallJobs) {
  expect_within_three_percent(7001, 10, {12, std::int64_t{1} << 28, std::int64_t{1} << 33});
}

TEST(FullEstimate, IsWithinThreePercentOfTheSimulatorOnFiftyJobs) {
  expect_within_three_percent(7101, 50, {64, std::int64_t{1} << 28, std::int64_t{1} << 35});
}

// The integer costs of the planner and the simulator's are the same but for rounding.
TEST(OperationTimes, AreThoseOfTheSimulator) {
  for (std::uint64_t seed = 7201; seed < 7206; ++seed)
    for_each_plan(seed, {12, std::int64_t{1} << 28, std::int64_t{1} << 30}, [](const Plan& plan) {
      const OperationCosts costs = operation_costs(plan);
      for (OpId op = 0; op < plan.operations(); ++op) {
        EXPECT_NEAR(to_seconds(latency_ps(plan, op)), costs.latency_s[op], 1e-11);
        for (const bool at_source : {true, false})
          EXPECT_NEAR(to_seconds(lane_occupancy_ps(plan, op, at_source)),
                      lane_occupancy_s(plan, op, at_source), 1e-11);
        if (slowest_link_rate(plan, op) > 0) {
          EXPECT_NEAR(static_cast<double>(wire_bytes(plan, op)), costs.wire_bytes[op], 1);
        }
      }
    });
}

}  // namespace
}  // namespace transload
