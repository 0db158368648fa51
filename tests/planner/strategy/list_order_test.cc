#include "planner/strategy/list_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/testing/random_job.h"

namespace transload {
namespace {

TEST(ListOrder, IsAPermutationOnRandomJobs) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 100; ++round) {
    const auto ports = static_cast<std::int32_t>(testing::pick(random, 1, 6));
    std::vector<PortJob> jobs;
    for (std::int64_t i = testing::pick(random, 0, 60); i > 0; --i)
      jobs.push_back({static_cast<std::int32_t>(testing::pick(random, 0, ports - 1)),
                      static_cast<std::int32_t>(ports + testing::pick(random, 0, ports - 1)),
                      testing::pick(random, 0, 100)});
    std::vector<std::int64_t> rates;
    std::vector<std::uint32_t> units;
    for (std::int32_t p = 0; p < 2 * ports; ++p) {
      rates.push_back(testing::pick(random, 0, 5));
      units.push_back(static_cast<std::uint32_t>(testing::pick(random, 1, 3)));
    }
    std::vector<std::uint32_t> order = list_order(jobs, rates, units).jobs;
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order.size(), jobs.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  }
}

// A chain of four ports of one byte per second, two chunks of 10 bytes: streamed, every hop of a
// chunk runs at once, 20 s; stored and forwarded, the last hop of the last chunk ends after 40 s.
TEST(ListOrder, WhatStreamsStartsWithItsLanding) {
  for (const bool streams : {true, false}) {
    std::vector<PortJob> jobs;
    for (int chunk = 0; chunk < 2; ++chunk)
      for (std::int32_t hop = 0; hop < 3; ++hop)
        jobs.push_back({2 * hop, 2 * hop + 1, 10,
                        hop == 0 ? kNoJob : static_cast<std::uint32_t>(jobs.size() - 1),
                        hop > 0 && streams});
    const std::vector<std::int64_t> rates(6, 1);
    const std::vector<std::uint32_t> units(6, 1);
    const ListOrder order = list_order(jobs, rates, units);
    EXPECT_EQ(order.makespan_ps, (streams ? 20 : 40) * 1'000'000'000'000);
  }
}

TEST(ListOrder, IsTheSameWhereverPeersAreLookedFor) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const auto ports = static_cast<std::int32_t>(testing::pick(random, 2, 30));
    std::vector<PortJob> jobs;
    // Port p + ports receives for the rank whose port p sends; few sizes, so that ties are common.
    for (std::int64_t i = testing::pick(random, 1, 900); i > 0; --i) {
      PortJob job{static_cast<std::int32_t>(testing::pick(random, 0, ports - 1)),
                  static_cast<std::int32_t>(ports + testing::pick(random, 0, ports - 1)),
                  testing::pick(random, 1, 4)};
      if (!jobs.empty() && testing::pick(random, 0, 2) == 0) {
        job.after = static_cast<std::uint32_t>(testing::pick(random, 0, std::ssize(jobs) - 1));
        job.out_port = jobs[job.after].in_port - ports;
      }
      jobs.push_back(job);
    }
    std::vector<std::int64_t> rates(2 * static_cast<std::size_t>(ports), 1);
    std::vector<std::uint32_t> units(rates.size(), 1);
    if (round % 2 == 1)
      for (std::size_t p = 0; p < rates.size(); ++p) {
        rates[p] = testing::pick(random, 0, 3);
        units[p] = static_cast<std::uint32_t>(testing::pick(random, 1, 3));
      }
    ForwardRules rules;
    rules.held_landings = static_cast<std::uint32_t>(testing::pick(random, 1, 6));
    rules.delay_ps = testing::pick(random, 0, 1) * 1'000'000'000'000;
    rules.paced = testing::pick(random, 0, 1) == 1;
    rules.spread = testing::pick(random, 0, 1) == 1;
    rules.make_room = testing::pick(random, 0, 1) == 1;
    const ListOrder by_pairs = list_order(jobs, rates, units, rules, PeerSearch::kPairs);
    for (const PeerSearch search : {PeerSearch::kFreePorts, PeerSearch::kFaster}) {
      const ListOrder order = list_order(jobs, rates, units, rules, search);
      ASSERT_EQ(order.jobs, by_pairs.jobs) << "round " << round;
      EXPECT_EQ(order.makespan_ps, by_pairs.makespan_ps);
    }
  }
}

TEST(ListOrder, SpreadsSourcesOverDestinations) {
  // Two sources with the same four destinations, one byte each: in every round (two consecutive
  // starts) the two sources must serve different destinations; example A's rotation.
  std::vector<PortJob> jobs;
  for (std::int32_t source = 0; source < 2; ++source)
    for (std::int32_t destination = 0; destination < 4; ++destination)
      jobs.push_back({source, 2 + destination, 1});
  const std::vector<std::int64_t> rates(6, 1);
  const std::vector<std::uint32_t> units(6, 1);
  const std::vector<std::uint32_t> order = list_order(jobs, rates, units).jobs;
  for (std::size_t i = 0; i < order.size(); i += 2) {
    EXPECT_NE(jobs[order[i]].out_port, jobs[order[i + 1]].out_port);
    EXPECT_NE(jobs[order[i]].in_port, jobs[order[i + 1]].in_port);
  }
}

TEST(ListOrder, ForwardsFollowWhatTheyForwardUnderEveryRule) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    std::vector<PortJob> jobs;
    for (std::uint32_t i = 0; i < 60; ++i) {
      // Ports 0 to 3 send, 4 to 7 receive; port p + 4 and port p belong to one rank.
      PortJob job{static_cast<std::int32_t>(testing::pick(random, 0, 3)),
                  static_cast<std::int32_t>(testing::pick(random, 4, 7)),
                  testing::pick(random, 1, 50), kNoJob};
      if (i > 0 && testing::pick(random, 0, 1) == 0) {
        job.after = static_cast<std::uint32_t>(testing::pick(random, 0, i - 1));
        job.out_port = jobs[job.after].in_port - 4;
      }
      jobs.push_back(job);
    }
    const std::vector<std::int64_t> rates(8, 1);
    const std::vector<std::uint32_t> units(8, 1);
    const auto held = static_cast<std::uint32_t>(testing::pick(random, 0, 4));
    for (const bool on : {false, true}) {
      const ListOrder order = list_order(jobs, rates, units, {held, on ? 7 : 0, on, on, on});
      ASSERT_EQ(order.jobs.size(), jobs.size());
      std::vector<std::size_t> place(jobs.size());
      for (std::size_t i = 0; i < order.jobs.size(); ++i) place[order.jobs[i]] = i;
      std::vector<std::int64_t> load(8, 0);
      for (std::uint32_t i = 0; i < jobs.size(); ++i) {
        if (jobs[i].after != kNoJob) {
          EXPECT_LT(place[jobs[i].after], place[i]);
        }
        load[static_cast<std::size_t>(jobs[i].out_port)] += jobs[i].bytes;
        load[static_cast<std::size_t>(jobs[i].in_port)] += jobs[i].bytes;
      }
      EXPECT_GE(order.makespan_ps, *std::max_element(load.begin(), load.end()) * 1'000'000'000'000);
    }
  }
}

TEST(ListOrder, PrefersThePeerWithMostLeft) {
  // Source 0 has one transfer to port 2 (also wanted by nobody else) and one to port 3, which
  // source 1 loads with ten more: port 3 is the bottleneck and goes first.
  const std::vector<PortJob> jobs = {{0, 2, 1}, {0, 3, 1}, {1, 3, 10}};
  const std::vector<std::uint32_t> order =
      list_order(jobs, std::vector<std::int64_t>(4, 1), std::vector<std::uint32_t>(4, 1)).jobs;
  EXPECT_EQ(order.front(), 2u) << "the longest source starts first";
  EXPECT_EQ(order[1], 0u) << "port 3 is busy, so source 0 serves port 2 meanwhile";
}

}  // namespace
}  // namespace transload
