// What two plans share: operations by content, connections by pairs of ranks.
#include "planner/schedule/reuse.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/testing/hand_plans.h"

namespace transload::testing {
namespace {

// Four chunks of 64 bytes, each packed, sent and unpacked.
constexpr std::uint64_t kAll = 4 * 3 * 64;

PlanReuse after_change(const std::function<void(PlanTables&)>& change) {
  const Plan plan = staged_plan();
  PlanTables tables = thaw_plan(plan);
  change(tables);
  return plan_reuse(plan, seal_plan(plan.header(), tables));
}

TEST(Reuse, OfItselfIsEverything) {
  const PlanReuse reuse = after_change([](PlanTables&) {});
  EXPECT_EQ(reuse.bytes, kAll);
  EXPECT_EQ(reuse.reused_bytes, kAll);
  EXPECT_EQ(reuse.fraction(), 1);
  EXPECT_EQ(reuse.kept_connections, 1u);
  EXPECT_EQ(reuse.new_connections, 0u);
  EXPECT_EQ(reuse.dropped_connections, 0u);
}

TEST(Reuse, DisciplineAndOrderDoNotCount) {
  EXPECT_EQ(plan_reuse(staged_plan(), grouped_plan()).fraction(), 1);
}

TEST(Reuse, AnotherByteRangeAnotherRankOrPortIsAnotherOperation) {
  EXPECT_EQ(after_change([](PlanTables& t) { t.op_begin[1] += 4; }).reused_bytes, kAll - 64);
  EXPECT_EQ(after_change([](PlanTables& t) { t.op_out_port[4] = t.op_in_port[4]; }).reused_bytes,
            kAll - 64);
  const PlanReuse other = after_change([](PlanTables& t) { t.op_source[1] = 1; });
  EXPECT_EQ(other.reused_bytes, kAll - 64);
  EXPECT_EQ(other.kept_connections, 1u);
  EXPECT_EQ(other.new_connections, 1u);
}

// All operations move the one bundle: another box in it, or another name of its tensor, is another
// content.
TEST(Reuse, AnotherContentOfTheBundleIsAnotherOperation) {
  EXPECT_EQ(after_change([](PlanTables& t) { t.bounds[t.slice_box[0] + 1] -= 1; }).reused_bytes,
            0u);
  EXPECT_EQ(after_change([](PlanTables& t) { t.names[t.tensor_name[0]] = '#'; }).reused_bytes, 0u);
}

TEST(Reuse, NothingInCommon) {
  const PlanReuse reuse = plan_reuse(staged_plan(), fan_out_plan());
  EXPECT_EQ(reuse.reused_bytes, 0u);
  EXPECT_EQ(reuse.kept_connections, 0u);
  EXPECT_EQ(reuse.dropped_connections, 1u);
  EXPECT_EQ(reuse.new_connections, 2u);  // 0 to 2, 2 to 3
}

}  // namespace
}  // namespace transload::testing
