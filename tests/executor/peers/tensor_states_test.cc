// What is said of a tensor follows from which operations that write it have started and finished.
#include "executor/peers/tensor_states.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/executor/small_plans.h"

namespace transload {
namespace {

// Rank 0 sends tensor a to rank 1 in two halves, and tensor b whole: operations 0, 1 and 2.
Plan two_tensors() {
  SmallPlan plan(2);
  const std::uint32_t a = plan.tensor("a", {8});
  const std::uint32_t b = plan.tensor("b", {4});
  for (const auto& [tensor, length] : {std::pair(a, 8), std::pair(b, 4)}) {
    plan.shard(0, Side::kSource, tensor, {0, length});
    plan.shard(1, Side::kDestination, tensor, {0, length});
  }
  plan.add(plan.transfer(0, 1, plan.bundle(a, {0, 4})));
  plan.add(plan.transfer(0, 1, plan.bundle(a, {4, 8})));
  plan.add(plan.transfer(0, 1, plan.bundle(b, {0, 4})));
  return plan.seal();
}

std::vector<TensorStateRow> states(std::int32_t rank, const std::set<OpId>& started,
                                   const std::set<OpId>& finished) {
  return tensor_states(two_tensors(), rank,
                       {[&](OpId op) { return started.count(op) > 0; },
                        [&](OpId op) { return finished.count(op) > 0; }});
}

constexpr TensorState kOld = TensorState::kOld;
constexpr TensorState kNew = TensorState::kNew;
constexpr TensorState kTorn = TensorState::kTorn;

TEST(TensorStates, OldUntilTheFirstWriteStarts) {
  EXPECT_EQ(states(1, {}, {}), (std::vector<TensorStateRow>{{0, kOld}, {1, kOld}}));
}

TEST(TensorStates, TornBetween) {
  EXPECT_EQ(states(1, {0}, {}), (std::vector<TensorStateRow>{{0, kTorn}, {1, kOld}}));
  EXPECT_EQ(states(1, {0}, {0}), (std::vector<TensorStateRow>{{0, kTorn}, {1, kOld}}));
  EXPECT_EQ(states(1, {0, 1, 2}, {0, 2}), (std::vector<TensorStateRow>{{0, kTorn}, {1, kNew}}));
}

TEST(TensorStates, NewWhenTheLastWriteHasFinished) {
  EXPECT_EQ(states(1, {0, 1, 2}, {0, 1, 2}), (std::vector<TensorStateRow>{{0, kNew}, {1, kNew}}));
}

TEST(TensorStates, ARankIsWhatAllItsTensorsAre) {
  EXPECT_EQ(rank_state(states(1, {}, {})), kOld);
  EXPECT_EQ(rank_state(states(1, {0, 1}, {0, 1})), kTorn);
  EXPECT_EQ(rank_state(states(1, {0, 1, 2}, {0, 1, 2})), kNew);
  EXPECT_EQ(rank_state(states(0, {}, {})), kNew);  // receives nothing
}

TEST(TensorStates, AByteRangeNamesItsTensors) {
  const Plan plan = two_tensors();
  std::vector<std::uint32_t> seen;
  for_each_tensor(plan, plan.op_bundle[2], 0, 8,
                  [&](std::uint32_t tensor) { seen.push_back(tensor); });
  EXPECT_EQ(seen, std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace transload
