#include "planner/strategy/group_fill.h"

#include <gtest/gtest.h>

#include "planner/strategy/group_time.h"

namespace transload {
namespace {

// Ranks 0 .. n-1 with one NIC each: out port 2 r, in port 2 r + 1, one byte per picosecond.
Fabric fabric_of(std::size_t ranks) {
  Fabric fabric;
  fabric.ranks.resize(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    fabric.ranks[r].nic_out = {static_cast<std::int32_t>(2 * r)};
    fabric.ranks[r].nic_in = {static_cast<std::int32_t>(2 * r + 1)};
  }
  fabric.port_rate.assign(2 * ranks, 1'000'000'000'000);
  return fabric;
}

Hop hop(std::uint32_t id, Rank from, Rank to) {
  Hop hop;
  hop.id = hop.chunk = id;
  hop.source = from;
  hop.destination = to;
  hop.out_port = 2 * from;
  hop.in_port = 2 * to + 1;
  return hop;
}

std::vector<Chunk> chunks_of(const std::vector<std::int64_t>& bytes) {
  std::vector<Chunk> chunks;
  for (const std::int64_t each : bytes) chunks.push_back({0, 0, 0, 0, each});
  return chunks;
}

TEST(GroupFill, CountsTimeAndNotTransfers) {
  // Ten units of time per group: one of 8 and one of 2 share the first, one of 8 needs the second,
  // and the one of 2 behind it still fits there.
  const Fabric fabric = fabric_of(2);
  const std::vector<Chunk> chunks = chunks_of({8, 2, 8, 2});
  std::vector<Hop> hops = {hop(0, 0, 1), hop(1, 0, 1), hop(2, 0, 1), hop(3, 0, 1)};
  fill_groups(hops, chunks, fabric, fabric.port_rate, 10);
  EXPECT_EQ(hops[0].group, 0);
  EXPECT_EQ(hops[1].group, 0);
  EXPECT_EQ(hops[2].group, 1);
  EXPECT_EQ(hops[3].group, 1);
}

TEST(GroupFill, BothPortsNeedRoom) {
  // Both send to rank 2: its in port decides.
  const Fabric fabric = fabric_of(3);
  const std::vector<Chunk> chunks = chunks_of({10, 10, 10});
  std::vector<Hop> hops = {hop(0, 0, 2), hop(1, 1, 2), hop(2, 1, 0)};
  fill_groups(hops, chunks, fabric, fabric.port_rate, 10);
  EXPECT_EQ(hops[0].group, 0);
  EXPECT_EQ(hops[1].group, 1);
  EXPECT_EQ(hops[2].group, 0) << "a free gap of its port";
}

TEST(GroupFill, WhatStreamsIsInTheGroupOfItsLanding) {
  // Rank 1's out port is full of its own in groups 0 and 1, so the whole chain 0 -> 1 -> 2 goes to
  // group 2, though its first hop had room before.
  const Fabric fabric = fabric_of(4);
  const std::vector<Chunk> chunks = chunks_of({10, 10, 10, 10});
  std::vector<Hop> hops = {hop(0, 1, 3), hop(1, 1, 3), hop(2, 0, 1), hop(3, 1, 2)};
  hops[2].forwards = 1;
  hops[2].streamed = true;
  hops[3].from = 2;
  hops[3].streams = true;
  fill_groups(hops, chunks, fabric, fabric.port_rate, 10);
  EXPECT_EQ(hops[2].group, 2);
  EXPECT_EQ(hops[3].group, 2);
}

TEST(GroupFill, AForwardGoesToALaterGroupThanItsLanding) {
  const Fabric fabric = fabric_of(3);
  const std::vector<Chunk> chunks = chunks_of({1, 1});
  std::vector<Hop> hops = {hop(0, 0, 1), hop(1, 1, 2)};
  hops[0].forwards = 1;
  hops[1].from = 0;
  fill_groups(hops, chunks, fabric, fabric.port_rate, 100);
  EXPECT_EQ(hops[0].group, 0);
  EXPECT_EQ(hops[1].group, 1);
}

TEST(GroupTime, AGroupLastsAsLongAsItsBusiestPort) {
  // Group 0: rank 0 sends 4 and 6, rank 2 receives 6 and 5 of it and of rank 1: 11 in all. Group 1
  // of rank 1 begins when its own group is through, at 11, and takes 3.
  const Fabric fabric = fabric_of(3);
  const std::vector<Chunk> chunks = chunks_of({4, 6, 5, 3});
  std::vector<Hop> hops = {hop(0, 0, 1), hop(1, 0, 2), hop(2, 1, 2), hop(3, 1, 0)};
  for (Hop& each : hops) each.group = 0;
  hops[3].group = 1;
  EXPECT_EQ(group_makespan_ps(hops, chunks, fabric), 14);
}

}  // namespace
}  // namespace transload
