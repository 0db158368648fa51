#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "planner/bound/balanced_flow.h"
#include "planner/bound/capacity_flow.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

TEST(CapacityFlow, LaterStagesTakeWhatIsLeft) {
  // One port of 10, two demands: demand 0 sends 8 first, demand 1 gets the remaining 2 of its 5;
  // through a second port of 10 it then sends the rest.
  CapacityFlow flow(2, {10, 10});
  flow.add_supply(0, 8);
  const std::size_t first = flow.add_edge(0, 0);
  EXPECT_EQ(flow.run(), 8);
  flow.add_supply(1, 5);
  const std::size_t second = flow.add_edge(1, 0);
  EXPECT_EQ(flow.run(), 10);
  EXPECT_EQ(flow.sent(0), 8);
  EXPECT_EQ(flow.sent(1), 2);
  const std::size_t third = flow.add_edge(1, 1);
  EXPECT_EQ(flow.run(), 13);
  EXPECT_EQ(flow.sent(0), 8);
  EXPECT_EQ(flow.sent(1), 5);
  EXPECT_EQ(flow.through(first), 8);
  EXPECT_EQ(flow.through(second) + flow.through(third), 5);
}

TEST(CapacityFlow, MoreSupplyForADemandThatIsServedAlready) {
  CapacityFlow flow(1, {7});
  flow.add_edge(0, 0);
  flow.add_supply(0, 6);
  EXPECT_EQ(flow.run(), 6);
  flow.add_supply(0, 6);
  EXPECT_EQ(flow.run(), 7);
  EXPECT_EQ(flow.sent(0), 7);
}

TEST(BalancedFlow, ReachesTheOptimumAndBalancesWhatIsOutsideTheTightSet) {
  // Demand 0 (90) only on port 0; demand 1 (60) on ports 1 and 2, demand 2 (10) on port 2 or 0:
  // port 0 is tight at 90, so demand 2 avoids it and ports 1 and 2 carry 35 each.
  const std::vector<std::vector<std::int64_t>> shares =
      balanced_flow({{90, {0}}, {60, {1, 2}}, {10, {0, 2}}}, {1, 1, 1});
  EXPECT_EQ(shares[0], (std::vector<std::int64_t>{90}));
  EXPECT_EQ(shares[1], (std::vector<std::int64_t>{35, 25}));
  EXPECT_EQ(shares[2], (std::vector<std::int64_t>{0, 10}));
}

TEST(BalancedFlow, RandomAssignmentsAreCompleteAndOptimal) {
  std::mt19937_64 random(21);
  for (int round = 0; round < 200; ++round) {
    const auto ports = static_cast<std::size_t>(testing::pick(random, 1, 8));
    std::vector<std::int64_t> rates;
    for (std::size_t p = 0; p < ports; ++p) rates.push_back(testing::pick(random, 1, 50));
    std::vector<FlowDemand> demands(static_cast<std::size_t>(testing::pick(random, 1, 12)));
    for (FlowDemand& demand : demands) {
      demand.bytes = testing::pick(random, 0, 100'000);
      for (std::uint32_t p = 0; p < ports; ++p)
        if (testing::pick(random, 0, 2) == 0) demand.ports.push_back(p);
      if (demand.ports.empty()) demand.ports.push_back(0);
    }
    const MinMaxCut cut = min_max_cut(demands, rates);
    const std::vector<std::vector<std::int64_t>> shares = balanced_flow(demands, rates);
    std::vector<std::int64_t> load(ports, 0);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      EXPECT_EQ(std::accumulate(shares[i].begin(), shares[i].end(), std::int64_t{0}),
                demands[i].bytes);
      for (std::size_t j = 0; j < shares[i].size(); ++j) load[demands[i].ports[j]] += shares[i][j];
    }
    for (std::size_t p = 0; p < ports; ++p)
      EXPECT_LE(static_cast<__int128>(load[p] - 1) * cut.rate,
                static_cast<__int128>(cut.bytes) * rates[p])
          << "round " << round;
  }
}

}  // namespace
}  // namespace transload
