// The schedule graph in GOAL, against texts written by hand.
#include "simulator/export/goal.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/simulator/sketch.h"

namespace transload {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string goal_of(const Plan& plan) {
  std::ostringstream text;
  write_goal(plan, text);
  return text.str();
}

// Rank 0 packs 1 GB (2 ms at 1000 GB/s, read and write), sends it to rank 1, which passes it on
// over NVLink to rank 2: 1 GB at 100 GB/s are 10 ms.
TEST(Goal, WritesTransfersCopiesAndEdges) {
  Sketch sketch(3);
  sketch.header().job_name = "small";
  sketch.header().strategy = "p2p";
  const OpId pack = sketch.copy(
      OpRole::kPack, 0, sketch.port(PortKind::kPack, LinkKind::kHbm, 0, {.rate = 1000 * kGigabyte}),
      kGigabyte);
  const OpId send = sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kGigabyte);
  const PortSketch nvlink = {.rate = 100 * kGigabyte};
  const OpId fan_out =
      sketch.transfer(1, sketch.port(PortKind::kNvlinkOut, LinkKind::kNvlinkOut, 1, nvlink), 2,
                      sketch.port(PortKind::kNvlinkIn, LinkKind::kNvlinkIn, 2, nvlink), kGigabyte);
  sketch.after(send, pack);
  sketch.after(fan_out, send);
  EXPECT_EQ(goal_of(sketch.seal()),
            "// small, p2p: times in nanoseconds\n"
            "num_ranks 3\n"
            "\n"
            "rank 0 {\n"
            "l0: calc 2000000 cpu 0\n"
            "l1: send 1000000000b to 1 tag 1 cpu 1 nic 0\n"
            "l1 requires l0\n"
            "}\n"
            "\n"
            "rank 1 {\n"
            "l1: recv 1000000000b from 0 tag 1 cpu 2 nic 0\n"
            "l2: calc 10000000 cpu 3\n"
            "m2: send 1b to 2 tag 2 cpu 3 nic 0\n"
            "m2 requires l2\n"
            "l2 requires l1\n"
            "}\n"
            "\n"
            "rank 2 {\n"
            "l2: recv 1b from 1 tag 2 cpu 4 nic 0\n"
            "}\n");
}

// Window 2: the third transfer waits for the first at both its ports.
TEST(Goal, AWindowIsAnEdge) {
  Sketch sketch(2);
  sketch.header().discipline = Discipline::kWindows;
  const std::int32_t out = sketch.nic_out(0, {.window = 2});
  const std::int32_t in = sketch.nic_in(1, {.window = 2});
  for (int i = 0; i < 3; ++i) sketch.transfer(0, out, 1, in, 8);
  const std::string text = goal_of(sketch.seal());
  EXPECT_THAT(text, HasSubstr("l2: send 8b to 1 tag 2 cpu 1 nic 0\nl2 requires l0\n}"));
  EXPECT_THAT(text, HasSubstr("l2: recv 8b from 0 tag 2 cpu 2 nic 0\nl2 requires l0\n}"));
  EXPECT_THAT(text, Not(HasSubstr("l1 requires")));
}

// Two transfers in group 0, one in group 1, on both ranks.
TEST(Goal, GroupsFollowOneAnother) {
  Sketch sketch(2);
  sketch.header().discipline = Discipline::kGroups;
  sketch.header().colours_per_group = 2;
  const std::int32_t out = sketch.nic_out(0);
  const std::int32_t in = sketch.nic_in(1);
  for (const std::int32_t group : {0, 0, 1}) sketch.transfer(0, out, 1, in, 8, group);
  EXPECT_THAT(goal_of(sketch.seal()), HasSubstr("g0: calc 0\n"
                                                "g0 requires l0\n"
                                                "g0 requires l1\n"
                                                "g1: calc 0\n"
                                                "g1 requires l2\n"
                                                "l2 requires g0\n"
                                                "}"));
}

TEST(Goal, AStreamHopStartsWithItsUpstream) {
  Sketch sketch(3);
  const OpId first = sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), 8);
  const OpId second = sketch.transfer(1, sketch.nic_out(1), 2, sketch.nic_in(2), 8);
  sketch.stream(second, first);
  EXPECT_THAT(goal_of(sketch.seal()), HasSubstr("l1 irequires l0\n"));
}

// A fence on rank 2 that waits for host work on rank 0 has no rank in common with it.
TEST(Goal, AnEdgeBetweenStrangersIsAMessage) {
  Sketch sketch(3);
  const OpId work = sketch.host(
      OpRole::kExport, 0, sketch.port(PortKind::kHost, LinkKind::kHost, 0, {.rate = 0}), 5000);
  sketch.after(sketch.fence(2), work);
  const std::string text = goal_of(sketch.seal());
  // 5000 ps are 5 ns.
  EXPECT_THAT(text,
              HasSubstr("rank 0 {\nl0: calc 5 cpu 6\ns2: send 1b to 2 tag 2\ns2 requires l0\n}"));
  EXPECT_THAT(text,
              HasSubstr("rank 2 {\nl1: calc 0 cpu 6\ns2: recv 1b from 0 tag 2\nl1 requires s2\n}"));
}

}  // namespace
}  // namespace transload
