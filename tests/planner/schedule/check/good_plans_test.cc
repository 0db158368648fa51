#include "tests/planner/schedule/check/expect_violation.h"

namespace transload::testing {
namespace {

TEST(CheckPlan, DirectTransferIsRight) { expect_right(direct_plan()); }
TEST(CheckPlan, ChunksThroughReusedSlotsAreRight) { expect_right(staged_plan()); }
TEST(CheckPlan, GroupsAreRight) { expect_right(grouped_plan()); }
TEST(CheckPlan, FanOutIsRight) { expect_right(fan_out_plan()); }
TEST(CheckPlan, StreamedBroadcastWithClippingIsRight) { expect_right(broadcast_plan()); }

TEST(CheckPlan, AnEmptyPlanIsRight) { expect_right(HandPlan(2, 1).seal()); }

// Scalars have no bounds at all; empty tensors want nothing.
TEST(CheckPlan, ScalarsAndEmptyTensors) {
  HandPlan plan(2, 1);
  const std::uint32_t scalar = plan.builder.add_tensor("s", {}, DType::kF32);
  const std::vector<std::int64_t> shape = {0, 4};
  const std::vector<std::int64_t> empty = {0, 0, 0, 4};
  const std::uint32_t nothing = plan.builder.add_tensor("e", shape, DType::kF32);
  for (const std::int32_t rank : {0, 1}) {
    const Side side = rank == 0 ? Side::kSource : Side::kDestination;
    plan.builder.add_dense_shard(rank, side, scalar, 1, {});
    plan.builder.add_dense_shard(rank, side, nothing, 1, empty);
  }
  const std::vector<SliceSpec> slices = {{scalar, 1, 1, plan.builder.add_box({})},
                                         {nothing, 1, 1, plan.builder.add_box(empty)}};
  plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 4, kNone, kNone);
  expect_right(plan.seal());
}

// 12 experts in one row; rank 0 sends the even ones, rank 1 the odd ones: two stepped slices.
TEST(CheckPlan, SteppedSlicesShareARow) {
  HandPlan plan(3, 1);
  const std::vector<std::int64_t> shape = {4};
  const std::vector<std::int64_t> box = {0, 4};
  for (int t = 0; t < 12; ++t) plan.builder.add_tensor("e" + std::to_string(t), shape, DType::kF32);
  for (const std::int32_t rank : {0, 1, 2})
    plan.builder.add_dense_shard(rank, rank == 2 ? Side::kDestination : Side::kSource, 0, 12, box);
  for (const std::uint32_t parity : {0, 1}) {
    const std::vector<SliceSpec> slices = {{parity, 6, 2, plan.builder.add_box(box)}};
    plan.transfer(OpRole::kInject, static_cast<std::int32_t>(parity), 2,
                  plan.builder.add_bundle(slices), 0, 96, kNone, kNone);
  }
  const Plan right = plan.seal();
  expect_right(right);
  // The odd slice starting at 0 too: even experts come twice.
  expect_violation(edit(right, [](PlanTables& t) { t.slice_tensor_first[1] = 0; }), "exactly-once",
                   {"rank 2", "tensor e0", "written twice", "operation 0", "operation 1"});
  // One odd expert less is one tensor that nobody writes.
  expect_violation(edit(right,
                        [](PlanTables& t) {
                          t.slice_tensor_count[1] = 5;
                          t.bundle_bytes[1] = t.op_bytes[1] = 80;
                        }),
                   "exactly-once", {"rank 2", "tensor e11", "4 of 4 elements"});
}

// A rank may hold one expert twice (redundant copies): each copy is filled by the same arrival.
TEST(CheckPlan, RedundantCopiesOnOneRank) {
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {4};
  const std::vector<std::int64_t> box = {0, 4};
  const std::uint32_t tensor = plan.builder.add_tensor("e", shape, DType::kF32);
  plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, box);
  plan.builder.add_dense_shard(1, Side::kDestination, tensor, 1, box);
  plan.builder.add_dense_shard(1, Side::kDestination, tensor, 1, box);
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, plan.builder.add_box(box)}};
  plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 16, kNone, kNone);
  expect_right(plan.seal());
}

TEST(CheckPlan, LimitsAndCountsWhatItReports) {
  // Without its 12 operations' edges the staged plan has many violations.
  const Plan broken = edit(staged_plan(), [](PlanTables& t) {
    std::fill(t.op_after_first.begin(), t.op_after_first.end(), 0);
    t.op_after.clear();
  });
  const CheckReport all = check_plan(broken, 1000);
  EXPECT_FALSE(all.truncated);
  // 8 slot reads without an edge, 4 slots reused without waiting (chunks 2 and 3 on both sides).
  EXPECT_EQ(all.violations.size(), 12u) << all_text(all);
  const CheckReport some = check_plan(broken, 3);
  EXPECT_TRUE(some.truncated);
  EXPECT_EQ(some.violations.size(), 3u);
  EXPECT_FALSE(some.ok);
}

}  // namespace
}  // namespace transload::testing
