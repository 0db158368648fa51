#include "planner/schedule/check/finished_before.h"

#include <gtest/gtest.h>

#include "tests/testing/hand_plans.h"

namespace transload::testing {
namespace {

OpId first_unordered(const Plan& plan, OpId op, std::vector<OpId> earlier) {
  return FinishedBefore(plan).first_unordered(op, earlier);
}

TEST(FinishedBefore, DirectAndThroughOthers) {
  const Plan plan = staged_plan();
  EXPECT_EQ(first_unordered(plan, 7, {6, 2}), 7u);  // both direct
  EXPECT_EQ(first_unordered(plan, 8, {0, 1, 2}), 8u);
  EXPECT_EQ(first_unordered(plan, 8, {0, 3, 2}), 3u);  // chunk 1 is another chain
  EXPECT_EQ(first_unordered(plan, 8, {}), 8u);
}

// Operation 4 (unpack on rank 2) follows hop 1 -> 2, which ends no earlier than hop 0 -> 1, its
// upstream; but only if it forwards all that its upstream lands.
TEST(FinishedBefore, AHopStandsForAnUpstreamThatItForwardsWholly) {
  EXPECT_EQ(first_unordered(broadcast_plan(), 4, {1}), 4u);
  const auto with_range = [](std::uint64_t begin, std::uint64_t bytes) {
    return edit(broadcast_plan(), [=](PlanTables& t) {
      t.op_begin[2] = begin;
      t.op_bytes[2] = bytes;
    });
  };
  EXPECT_EQ(first_unordered(with_range(0, 252), 4, {1}), 1u);
  EXPECT_EQ(first_unordered(with_range(4, 252), 4, {1}), 1u);
}

// A hop that streams has not seen its upstream finish when it starts.
TEST(FinishedBefore, NotTheUpstreamOfTheOperationItself) {
  EXPECT_EQ(first_unordered(broadcast_plan(), 2, {1}), 1u);
}

TEST(FinishedBefore, LongChainsWithinTheLimit) {
  HandPlan plan(1, 1);
  for (int i = 0; i < 100; ++i) {
    OpSpec fence;
    fence.key = static_cast<std::uint64_t>(i);
    fence.kind = OpKind::kFence;
    fence.role = OpRole::kBarrier;
    const OpId op = plan.builder.add_op(fence);
    if (i > 0) plan.builder.add_after(op, op - 1);
  }
  const Plan chain = plan.seal();
  const OpId hops = FinishedBefore::kHops;
  EXPECT_EQ(first_unordered(chain, 99, {99 - hops}), 99u);
  EXPECT_EQ(first_unordered(chain, 99, {99 - hops - 1}), 99 - hops - 1);
}

}  // namespace
}  // namespace transload::testing
