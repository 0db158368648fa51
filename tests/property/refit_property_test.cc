// Random jobs through the whole product: planned by every strategy under both disciplines, proven
// by the checker, run on the host with every byte compared.

#include <gtest/gtest.h>

#include <random>

#include "executor/run.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

std::string describe(const CheckReport& report) {
  std::string text;
  for (const Violation& violation : report.violations)
    text += violation.invariant + ": " + violation.text + "\n";
  return text;
}

void plan_check_run(const std::string& text, int seed, std::mt19937_64& random) {
  const Job job = job_from_text(text, "random.yaml", "");
  const PlanningInput input = prepare(job);
  for (const StrategyInfo& info : strategies()) {
    StrategyChoice strategy;
    strategy.name = info.name;
    strategy.bucket_bytes = testing::pick(random, 1, 300);
    for (Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      SCOPED_TRACE(std::string(info.name) + " " + std::string(name_of(discipline)) + " seed " +
                   std::to_string(seed) + "\n" + text);
      const Plan plan = make_plan(job, input, strategy, discipline);
      const CheckReport report = check_plan(plan);
      ASSERT_TRUE(report.ok) << describe(report);
      RunOptions options;
      options.verify = true;
      options.threads = 2;
      const RunResult result = run_on_host(plan, options);
      EXPECT_EQ(result.mismatched_bytes, 0u)
          << (result.mismatches.empty() ? "" : result.mismatches[0]);
      EXPECT_EQ(result.state, "new");
    }
  }
}

void run_jobs(int count, int first_seed) {
  for (int i = 0; i < count; ++i) {
    std::mt19937_64 random(static_cast<std::uint64_t>(first_seed + i));
    plan_check_run(testing::random_job(random), first_seed + i, random);
    if (::testing::Test::HasFatalFailure() || ::testing::Test::HasNonfatalFailure()) return;
  }
}

TEST(RefitProperty, TwoHundredRandomJobsAreMovedExactly) { run_jobs(200, 1000); }

TEST(FullRefitProperty, TwoThousandRandomJobsAreMovedExactly) { run_jobs(2000, 50'000); }

}  // namespace
}  // namespace transload
