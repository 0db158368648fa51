// Random plans with shared buffers, padding, zero fills and tied names, run on the host with every
// byte compared.
#include <gtest/gtest.h>

#include "executor/run.h"
#include "planner/schedule/scale.h"
#include "tests/testing/hand_plans.h"
#include "tests/testing/random_plan.h"

namespace transload::testing {
namespace {

std::string run_and_verify(const Plan& plan) {
  const RunResult result = run_on_host(plan, {.verify = true, .iterations = 2, .threads = 2});
  if (result.mismatched_bytes == 0) return {};
  return result.mismatches.empty() ? "some bytes are wrong" : result.mismatches[0];
}

TEST(RandomRun, EveryByteIsRight) {
  std::mt19937_64 random(5);
  int filled = 0;
  for (int i = 0; i < 200; ++i) {
    const Plan plan = random_plan(random);
    ASSERT_EQ(run_and_verify(plan), "") << "plan " << i;
    ASSERT_EQ(run_and_verify(scale_plan(plan, 2 + random() % 8)), "") << "plan " << i << ", scaled";
    if (!plan.fill_bytes.empty()) ++filled;
  }
  EXPECT_GT(filled, 50);
}

// The plan is right as far as shards go, but a fill takes bytes of one: the two cannot both be.
TEST(RandomRun, FillsOverElementsAreNoticed) {
  std::mt19937_64 random(6);
  int noticed = 0;
  for (int i = 0; i < 50; ++i) {
    const Plan plan = random_plan(random);
    if (plan.fill_bytes.empty() || plan.fill_offset[0] < 4) continue;
    const Plan broken = edit(plan, [](PlanTables& t) {
      t.fill_offset[0] -= 4;
      t.fill_bytes[0] += 4;
    });
    if (!run_and_verify(broken).empty()) ++noticed;
  }
  EXPECT_GT(noticed, 5);
}

}  // namespace
}  // namespace transload::testing
