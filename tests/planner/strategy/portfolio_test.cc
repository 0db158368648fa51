// Which rule wins where, and what that is worth by the planner's own clock.
#include "planner/strategy/portfolio.h"

#include <gtest/gtest.h>

#include "planner/schedule/fluid_time.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

Job job_of(const std::string& nodes, const std::string& tensors) {
  return job_from_text("topology: {efficiency: 1, nodes: [" + nodes + "]}\ntensors:\n" + tensors,
                       "job.yaml", "");
}

// How much longer than the bound, in per mille, and the rule.
std::pair<std::int64_t, std::string> planned(const Job& job, Discipline discipline) {
  const PlanningInput input = prepare(job);
  const Plan plan = make_plan(job, input, testing::choice_of("transload"), discipline);
  const CheckReport report = check_plan(plan);
  EXPECT_TRUE(report.ok) << (report.ok ? "" : report.violations[0].text);
  return {fluid_time_ps(plan) * 1000 / input.bounds.bound_ps - 1000, plan.header().strategy_notes};
}

// One source of 32 GiB for twelve nodes, full on both sides: store and forward leaves gaps (1.1 x
// the bound under windows, 1.25 in groups), chains do not.
TEST(Portfolio, OneSourceFeedsManyNodesByChains) {
  const Job job = job_of("{count: 13, gpus: 1, nic: 50GB/s}", R"(
  - {name: w, shape: [32768, 1048576], dtype: uint8,
     source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 12}, placements: [R], ranks: 1-12}}
)");
  const auto [windows, rule] = planned(job, Discipline::kWindows);
  EXPECT_LE(windows, 10);
  EXPECT_NE(rule.find("chains of domains"), std::string::npos) << rule;
  EXPECT_LE(planned(job, Discipline::kGroups).first, 30);
}

// 100 KB for each of two GPUs of one node, from a holder each: one copy through NVLink would cost a
// second launch and latency.
TEST(Portfolio, WhatIsOverInALaunchTakesNoExtraHop) {
  const Job job = job_of("{count: 2, gpus: 2, nic: 50GB/s, nvlink: 450GB/s}", R"(
  - {name: w, shape: [100000], dtype: uint8,
     source: {mesh: {x: 2}, placements: [R], ranks: 0-1},
     destination: {mesh: {y: 2}, placements: [R], ranks: 2-3}}
)");
  const PlanningInput input = prepare(job);
  const Plan plan = make_plan(job, input, testing::choice_of("transload"), Discipline::kWindows);
  const Plan direct = make_plan(job, input, testing::choice_of("p2p"), Discipline::kWindows);
  EXPECT_LE(fluid_time_ps(plan), fluid_time_ps(direct));
  EXPECT_NE(plan.header().strategy_notes.find("least loaded holder"), std::string::npos)
      << plan.header().strategy_notes;
}

// Sources with room: the plain rule, and the notes name none.
TEST(Portfolio, ThePlainRuleHasNoNote) {
  const Job job = job_of("{count: 4, gpus: 1, nic: 50GB/s}", R"(
  - {name: w, shape: [32768, 65536], dtype: uint8,
     source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1},
     destination: {mesh: {y: 2}, placements: [S(1)], ranks: 2-3}}
)");
  EXPECT_EQ(planned(job, Discipline::kWindows).second, strategy_info("transload").in_flight_rule);
}

}  // namespace
}  // namespace transload
