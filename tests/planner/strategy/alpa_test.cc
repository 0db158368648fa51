// Alpa's rules on small jobs by hand.
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

using testing::choice_of;
using testing::limits_of;
using testing::PairBytes;
using testing::pairs_of;
using testing::plan_of;
using testing::RankBytes;
using testing::sent;
using testing::small_job;

// Nodes of two GPUs; ranks 0 (node 0) and 2 (node 1) hold a tensor that all of nodes 2 and 3 want.
const char* const kReplicated =
    "  - {name: a, shape: [100], dtype: uint8, source: {mesh: {dp: 2}, placements: [R], ranks: [0, "
    "2]}, destination: {mesh: {dp: 4}, placements: [R], ranks: 4-7}}\n"
    "  - {name: b, shape: [60], dtype: uint8, source: {mesh: {dp: 2}, placements: [R], ranks: [0, "
    "2]}, destination: {mesh: {dp: 4}, placements: [R], ranks: 4-7}}\n";

// One chain of hosts per tensor; the second tensor's sender is the host that sent less. Either
// tensor lands on rank 4 or 5 first (the NIC that received less), goes on to node 3, and inside
// each node over NVLink.
TEST(Alpa, BroadcastsFromHostToHostAndBalancesSenders) {
  const Plan plan = plan_of(small_job(kReplicated, 4, 2), choice_of("alpa"));
  EXPECT_EQ(pairs_of(plan, OpRole::kInject), (PairBytes{{{0, 4}, 100}, {{2, 5}, 60}}));
  EXPECT_EQ(pairs_of(plan, OpRole::kForward), (PairBytes{{{4, 6}, 100}, {{5, 7}, 60}}));
  EXPECT_EQ(pairs_of(plan, OpRole::kFanOut),
            (PairBytes{{{4, 5}, 100}, {{5, 4}, 60}, {{6, 7}, 100}, {{7, 6}, 60}}));
}

TEST(Alpa, SendRecvModeSendsToEveryReceiver) {
  const Plan plan = plan_of(small_job(kReplicated, 4, 2), choice_of("alpa:send-recv"));
  EXPECT_EQ(sent(plan), (RankBytes{{0, 400}, {2, 240}}));
}

TEST(Alpa, TakesEvenTilesOnly) {
  const auto limits = limits_of(
      small_job(
          "  - {name: w, shape: [10], dtype: uint8, source: {mesh: {x: 3}, placements: "
          "[S(0)], ranks: 0-2}, destination: {mesh: {x: 2}, placements: [S(0)], ranks: 3-4}}\n",
          5),
      "alpa");
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits.at("even tiles").value, "uneven parts of 10 along dimension 0 on the source");
  EXPECT_EQ(limits.at("even tiles").tensor, "w");
}

}  // namespace
}  // namespace transload
