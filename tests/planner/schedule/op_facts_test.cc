#include "planner/schedule/op_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/planner/schedule/sample_plans.h"

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Tensors a, b, c, d of four fp32 (16 B each). The bundle is: slice 0 = {a, c} (step 2), slice 1 =
// {b}, slice 2 = the first half of a (8 B). Packed order: a 0-16, c 16-32, b 32-48, a 48-56.
Plan sliced_plan() {
  testing::Cluster c(2, 1);
  const std::int64_t shape[] = {4};
  for (const char* name : {"a", "b", "c", "d"}) c.builder.add_tensor(name, shape, DType::kF32);
  const std::int64_t whole[] = {0, 4};
  const std::int64_t half[] = {0, 2};
  const std::vector<SliceSpec> slices = {{0, 2, 2, c.builder.add_box(whole)},
                                         {1, 1, 1, c.builder.add_box(whole)},
                                         {0, 1, 1, c.builder.add_box(half)}};
  const std::int32_t bundle = c.builder.add_bundle(slices);
  const std::pair<std::uint64_t, std::uint64_t> ranges[] = {{0, 56},  {0, 16},  {15, 2},
                                                            {16, 16}, {32, 24}, {20, 0}};
  std::uint64_t key = 0;
  for (const auto& [begin, bytes] : ranges)
    c.transfer(key++, OpRole::kInject, 0, 1, bundle, bytes, true, begin);
  return c.seal();
}

TEST(OpTensors, AreThoseWithBytesInTheRangeOnceEachInPackedOrder) {
  const Plan plan = sliced_plan();
  const OpTensors tensors(plan);
  EXPECT_THAT(tensors.of(0), ElementsAre(0, 2, 1));
  EXPECT_THAT(tensors.of(1), ElementsAre(0));
  EXPECT_THAT(tensors.of(2), ElementsAre(0, 2));  // last byte of a, first of c
  EXPECT_THAT(tensors.of(3), ElementsAre(2));
  EXPECT_THAT(tensors.of(4), ElementsAre(1, 0));
  EXPECT_THAT(tensors.of(5), IsEmpty());
}

TEST(SelectOperations, TakesExactNamesThenGlobs) {
  const Plan plan = sliced_plan();
  OpSelection selection;
  selection.tensor = "b";
  EXPECT_THAT(select_operations(plan, selection), ElementsAre(0, 4));
  selection.tensor = "[bc]";
  EXPECT_THAT(select_operations(plan, selection), ElementsAre(0, 2, 3, 4));
  selection.tensor = "w[0]";
  const Plan bracketed = testing::two_domains("w[0]");
  EXPECT_THAT(select_operations(bracketed, selection), ElementsAre(0, 1, 2, 3, 4));
}

TEST(SelectOperations, TakesBothSidesOfARank) {
  const Plan plan = testing::two_domains();
  OpSelection selection;
  selection.rank = 2;
  EXPECT_THAT(select_operations(plan, selection), ElementsAre(1, 2, 3, 6));
  selection.tensor = "b";
  EXPECT_THAT(select_operations(plan, selection), IsEmpty());
}

TEST(SelectOperations, RefusesUnknownRanksAndTensors) {
  const Plan plan = testing::two_domains();
  OpSelection selection;
  selection.rank = 4;
  EXPECT_THROW(select_operations(plan, selection), InputError);
  selection.rank = -1;
  EXPECT_THROW(select_operations(plan, selection), InputError);
  selection.rank.reset();
  selection.tensor = "no.such*";
  EXPECT_THROW(select_operations(plan, selection), InputError);
}

TEST(OpLink, IsThatOfThePort) {
  const Plan plan = testing::two_domains();
  EXPECT_EQ(op_link(plan, 0), OpLink::kLocal);
  EXPECT_EQ(op_link(plan, 1), OpLink::kNetwork);
  EXPECT_EQ(op_link(plan, 3), OpLink::kNvlink);
  EXPECT_EQ(op_link(plan, 7), OpLink::kLocal);
}

}  // namespace
}  // namespace transload
