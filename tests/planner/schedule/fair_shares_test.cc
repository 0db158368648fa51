#include "planner/schedule/fair_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "tests/testing/random_job.h"

namespace transload {
namespace {

std::uint32_t add(FairShares& shares, std::vector<std::uint32_t> links) {
  return shares.add(links);
}

// Links of 30, 100 and 20. A flow over the first two and one over the first share 30; a flow over
// all three is held back by the last, of 20, which it shares: 10. So the first link leaves 20 for
// two, and the second 80 for the flow that has it to itself otherwise.
TEST(FairShares, FillLinkAfterLink) {
  FairShares shares({30, 100, 20}, 3);
  const std::uint32_t two = add(shares, {0, 1});
  const std::uint32_t first = add(shares, {0});
  const std::uint32_t all = add(shares, {0, 1, 2});
  const std::uint32_t last = add(shares, {2});
  const std::uint32_t second = add(shares, {1});
  EXPECT_TRUE(shares.changed());
  shares.solve();
  EXPECT_FALSE(shares.changed());
  EXPECT_EQ(shares.rate(all), 10);
  EXPECT_EQ(shares.rate(last), 10);
  EXPECT_EQ(shares.rate(two), 10);
  EXPECT_EQ(shares.rate(first), 10);
  EXPECT_EQ(shares.rate(second), 80);
  shares.remove(all);
  shares.solve();
  EXPECT_EQ(shares.rate(last), 20);
  EXPECT_EQ(shares.rate(two), 15);
  EXPECT_EQ(shares.rate(first), 15);
  EXPECT_EQ(shares.rate(second), 85);
}

TEST(FairShares, LinksWithoutCapacityDoNotCount) {
  FairShares shares({0, 50}, 2);
  const std::uint32_t flow = add(shares, {0, 1});
  shares.solve();
  EXPECT_EQ(shares.rate(flow), 50);
}

// Against the definition, with flows coming and going: no link is overloaded, and every flow
// crosses a link that is full and on which nobody has more than it.
TEST(FairShares, AreMaxMinFairOnRandomFlows) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto links = static_cast<std::size_t>(testing::pick(random, 1, 8));
    std::vector<std::int64_t> capacities;
    for (std::size_t i = 0; i < links; ++i)
      capacities.push_back(testing::pick(random, 1'000'000, 9'000'000));
    FairShares shares(capacities, 3);
    std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> flows;
    for (int step = 0; step < 30; ++step) {
      if (!flows.empty() && testing::pick(random, 0, 2) == 0) {
        const auto i = static_cast<std::size_t>(testing::pick(random, 0, std::ssize(flows) - 1));
        shares.remove(flows[i].first);
        flows.erase(flows.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        std::vector<std::uint32_t> over;
        for (std::int64_t n = testing::pick(random, 1, 3); n > 0; --n)
          over.push_back(static_cast<std::uint32_t>(
              testing::pick(random, 0, static_cast<std::int64_t>(links) - 1)));
        std::sort(over.begin(), over.end());
        over.erase(std::unique(over.begin(), over.end()), over.end());
        flows.emplace_back(shares.add(over), over);
      }
      shares.solve();
      std::vector<std::int64_t> used(links, 0);
      std::vector<std::int64_t> most(links, 0);
      for (const auto& [flow, over] : flows)
        for (const std::uint32_t link : over) {
          used[link] += shares.rate(flow);
          most[link] = std::max(most[link], shares.rate(flow));
        }
      // Whole bytes per second: a few of them are lost in every division.
      constexpr std::int64_t kLost = 64;
      for (std::size_t link = 0; link < links; ++link) EXPECT_LE(used[link], capacities[link]);
      for (const auto& [flow, over] : flows)
        EXPECT_TRUE(std::any_of(over.begin(), over.end(), [&](std::uint32_t link) {
          return used[link] + kLost >= capacities[link] && shares.rate(flow) + kLost >= most[link];
        }));
    }
  }
}

}  // namespace
}  // namespace transload
