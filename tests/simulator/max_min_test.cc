// Our own network of links, on cases worked out by hand. That whole plans come out like on SimGrid
// and like in a naive simulation is fluid_oracle_test.cc's and replay_test.cc's matter.
#include "simulator/replay/max_min.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace transload {
namespace {

using Links = std::vector<std::uint32_t>;
using Names = std::vector<std::uint32_t>;

Names ended_at(MaxMinNetwork& network, double date_s) {
  Names ended;
  network.end_until(date_s, ended);
  return ended;
}

TEST(MaxMin, AFlowMovesAtTheRateOfItsSlowestLink) {
  const std::array<double, 3> rates = {4, 2, 0};  // the last one costs no time
  MaxMinNetwork network(rates, 3);
  EXPECT_TRUE(std::isinf(network.next_end_s(0)));
  network.start(7, 10, Links{0, 1, 2});
  EXPECT_DOUBLE_EQ(network.next_end_s(0), 5);
  EXPECT_EQ(ended_at(network, 5), Names{7});
  EXPECT_TRUE(std::isinf(network.next_end_s(5)));
}

// Flows 0 and 1 share link 0 (rate 2), flow 1 also loads link 1 (rate 0.5). Flow 1 is held at 0.5,
// flow 0 gets the other 1.5 and ends its 3 bytes at 2 s. Flow 2 comes to link 1 then: 0.25 each.
// Flow 1 has 2 - 1 = 1 byte left, which takes 4 s; flow 2 has moved 1 of 2 bytes then and ends
// its last at the full 0.5 after 2 s more.
TEST(MaxMin, FlowsThatCannotUseTheirShareLeaveItToOthers) {
  const std::array<double, 2> rates = {2, 0.5};
  MaxMinNetwork network(rates, 2);
  network.start(0, 3, Links{0});
  network.start(1, 2, Links{0, 1});
  EXPECT_DOUBLE_EQ(network.next_end_s(0), 2);
  EXPECT_EQ(ended_at(network, 2), Names{0});
  network.start(2, 2, Links{1});
  EXPECT_DOUBLE_EQ(network.next_end_s(2), 6);
  EXPECT_EQ(ended_at(network, 6), Names{1});
  EXPECT_DOUBLE_EQ(network.next_end_s(6), 8);
}

// Three links in a row held together by flow 1; when it ends, what is left falls apart in two, and
// a change on one side leaves the other alone.
TEST(MaxMin, WhatNoLongerHangsTogetherIsFilledApart) {
  const std::array<double, 2> rates = {1, 1};
  MaxMinNetwork network(rates, 2);
  network.start(0, 10, Links{0});
  network.start(1, 1, Links{0, 1});
  network.start(2, 20, Links{1});
  EXPECT_DOUBLE_EQ(network.next_end_s(0), 2);  // half the rate each
  EXPECT_EQ(ended_at(network, 2), Names{1});
  EXPECT_DOUBLE_EQ(network.next_end_s(2), 11);  // 9 left
  network.start(3, 4, Links{0});                // at 2 s: 0.5 each, ends at 10 s
  EXPECT_DOUBLE_EQ(network.next_end_s(2), 10);
  EXPECT_EQ(ended_at(network, 10), Names{3});
  EXPECT_DOUBLE_EQ(network.next_end_s(10), 15);  // 5 left of flow 0
  EXPECT_EQ(ended_at(network, 15), Names{0});
  EXPECT_DOUBLE_EQ(network.next_end_s(15), 21);  // 19 left of flow 2 at 2 s
}

TEST(MaxMin, EndsWithinTheDateComeTogetherAndAscend) {
  const std::array<double, 3> rates = {1, 1, 1};
  MaxMinNetwork network(rates, 1);
  network.start(5, 1.0, Links{0});
  network.start(3, 1.1, Links{1});
  network.start(4, 1.3, Links{2});
  EXPECT_DOUBLE_EQ(network.next_end_s(0), 1);
  EXPECT_EQ(ended_at(network, 1.2), (Names{3, 5}));
  EXPECT_DOUBLE_EQ(network.next_end_s(1), 1.3);
}

TEST(MaxMin, ALinkNamedTwiceCountsOnce) {
  const std::array<double, 1> rates = {1};
  MaxMinNetwork network(rates, 2);
  network.start(0, 1, Links{0, 0});
  network.start(1, 1, Links{0});
  EXPECT_DOUBLE_EQ(network.next_end_s(0), 2);
  EXPECT_EQ(ended_at(network, 2), (Names{0, 1}));
}

}  // namespace
}  // namespace transload
