// Random jobs that NCCL M2N can do, in all of its modes and both disciplines: the plan is proven,
// simulated and run, and every byte arrives.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "executor/run.h"
#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"
#include "tests/planner/strategy/m2n/m2n_jobs.h"

namespace transload {
namespace {

// How often plans had each role.
using Roles = std::map<OpRole, int>;

void plan_check_run(const std::string& text, bool simulated, Roles& roles) {
  const Job job = job_from_text(text, "random.yaml", "");
  const PlanningInput input = prepare(job);
  for (const char* mode : {"default", "parent-node-aware", "parent-uniform", "direct"}) {
    StrategyChoice strategy;
    strategy.name = "m2n";
    strategy.mode = mode;
    for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      SCOPED_TRACE(std::string(mode) + " " + std::string(name_of(discipline)) + "\n" + text);
      const Plan plan = make_plan(job, input, strategy, discipline);
      const CheckReport report = check_plan(plan);
      ASSERT_TRUE(report.ok) << report.violations[0].invariant << ": " << report.violations[0].text;
      RunOptions run;
      run.verify = true;
      run.threads = 2;
      const RunResult result = run_on_host(plan, run);
      ASSERT_EQ(result.mismatched_bytes, 0u);
      ASSERT_EQ(result.verified_bytes, plan_totals(plan).payload_bytes);
      // Not far above it either, but a chain of single bytes is all latency.
      if (simulated) {
        EXPECT_GE(simulate(plan, {}).refit_s, 0.999 * ideal_seconds(plan));
      }
      for (OpId op = 0; op < plan.operations(); ++op) ++roles[op_role(plan, op)];
    }
  }
}

void run_jobs(int count, int first_seed) {
  Roles roles;
  for (int seed = first_seed; seed < first_seed + count; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed));
    plan_check_run(testing::random_m2n_job(random), seed % 8 == 0, roles);
    if (::testing::Test::HasFatalFailure() || ::testing::Test::HasNonfatalFailure()) return;
  }
  for (const OpRole role : {OpRole::kPack, OpRole::kInject, OpRole::kForward, OpRole::kFanOut,
                            OpRole::kUnpack, OpRole::kBarrier})
    EXPECT_GT(roles[role], count) << name_of(role);
}

TEST(M2nProperty, TwoHundredRandomJobsAreMovedExactly) { run_jobs(200, 41'000); }

TEST(FullM2nProperty, OneThousandRandomJobsAreMovedExactly) { run_jobs(1000, 400'000); }

}  // namespace
}  // namespace transload
