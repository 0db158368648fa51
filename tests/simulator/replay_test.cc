// Golden times of small plans, worked out by hand. All ports move 50 GB/s unless said otherwise.
#include "simulator/replay/replay.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "common/units.h"
#include "simulator/simulate.h"
#include "tests/simulator/sketch.h"

namespace transload {
namespace {

constexpr std::uint64_t kSecond = 50 * kGigabyte;  // bytes that one port moves in a second

void expect_seconds(double found, double expected) {
  EXPECT_NEAR(found, expected, 1e-9 * std::max(expected, 1.0));
}

// On SimGrid; our own engine must say the same.
SimulationResult exact(const Plan& plan) {
  const SimulationResult result = simulate(plan, {.exact = true, .engine = ReplayEngine::kSimGrid});
  const SimulationResult ours = simulate(plan, {.exact = true, .engine = ReplayEngine::kMaxMin});
  for (OpId op = 0; op < plan.operations(); ++op) {
    EXPECT_NEAR(ours.times.start_s[op], result.times.start_s[op], 1e-9 * result.refit_s);
    EXPECT_NEAR(ours.times.finish_s[op], result.times.finish_s[op], 1e-9 * result.refit_s);
  }
  EXPECT_EQ(ours.critical_path, result.critical_path);
  return result;
}

TEST(Replay, OneFlowMovesAtThePortRate) {
  Sketch sketch(2);
  sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kSecond);
  expect_seconds(exact(sketch.seal()).refit_s, 1.0);
}

TEST(Replay, EfficiencyScalesTheRate) {
  Sketch sketch(2);
  sketch.transfer(0, sketch.nic_out(0, {.efficiency_ppm = 800'000}), 1, sketch.nic_in(1), kSecond);
  expect_seconds(exact(sketch.seal()).refit_s, 1.25);
}

TEST(Replay, TwoFlowsIntoOnePortShareIt) {
  Sketch sketch(3);
  const std::int32_t in = sketch.nic_in(2);
  sketch.transfer(0, sketch.nic_out(0), 2, in, kSecond);
  sketch.transfer(1, sketch.nic_out(1), 2, in, kSecond);
  expect_seconds(exact(sketch.seal()).refit_s, 2.0);
}

TEST(Replay, TheTwoDirectionsOfAPairDoNotDisturbEachOther) {
  Sketch sketch(2);
  sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kSecond);
  sketch.transfer(1, sketch.nic_out(1), 0, sketch.nic_in(0), kSecond);
  expect_seconds(exact(sketch.seal()).refit_s, 1.0);
}

// 0->1, 0->2, 3->2, 4->2: port "in of 2" gives each of its three flows 1/3, the rest of "out of 0"
// goes to 0->1, which therefore moves at 2/3 and ends at 1.5 s; the others end at 3 s.
TEST(Replay, SharesPortsMaxMin) {
  Sketch sketch(5);
  const std::int32_t out = sketch.nic_out(0);
  const std::int32_t in = sketch.nic_in(2);
  const OpId alone = sketch.transfer(0, out, 1, sketch.nic_in(1), kSecond);
  const OpId shared = sketch.transfer(0, out, 2, in, kSecond);
  sketch.transfer(3, sketch.nic_out(3), 2, in, kSecond);
  sketch.transfer(4, sketch.nic_out(4), 2, in, kSecond);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[alone], 1.5);
  expect_seconds(result.times.finish_s[shared], 3.0);
  expect_seconds(result.refit_s, 3.0);
}

// Latencies 0 and 200 ms share the port equally once both flow: the first moves alone for 0.2 s,
// then 0.8 s of work at half rate until 1.8 s; the second has 0.2 s of work left then.
TEST(Replay, LatencyDelaysButDoesNotWeighTheShare) {
  Sketch sketch(3);
  const std::int32_t in = sketch.nic_in(2);
  const OpId near = sketch.transfer(0, sketch.nic_out(0), 2, in, kSecond);
  const OpId far =
      sketch.transfer(1, sketch.nic_out(1, {.latency_ps = 200 * kMillisecondPs}), 2, in, kSecond);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[near], 1.8);
  expect_seconds(result.times.finish_s[far], 2.0);
}

// SimGrid 3.32 forgets to update the flow 2->1 when 0->3 and 0->1 leave port "out of 0" at one
// instant, if their latency is SimGrid's. From 0.1 s on all three move at half rate; 2->1 has 0.9 s
// of work left and ends at 1.9 s, the other two have 0.1 s left then and end at 2.1 s.
TEST(Replay, FlowsThatLeaveAtOneInstantShareWithThoseUnderWay) {
  Sketch sketch(4);
  const std::int32_t in = sketch.nic_in(1);
  const std::int32_t out = sketch.nic_out(0, {.latency_ps = 100 * kMillisecondPs});
  const OpId under_way = sketch.transfer(2, sketch.nic_out(2), 1, in, kSecond);
  const OpId first = sketch.transfer(0, out, 3, sketch.nic_in(3), kSecond);
  const OpId second = sketch.transfer(0, out, 1, in, kSecond);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[under_way], 1.9);
  expect_seconds(result.times.finish_s[first], 2.1);
  expect_seconds(result.times.finish_s[second], 2.1);
}

// A chain of `hops` ranks behind the first; every chunk goes down all of it. With one chunk in
// flight per port, the slowest hop sets the beat: every hop once, and the slowest for each further
// chunk.
TEST(Replay, ChunksGoDownAChainAtTheBeatOfItsSlowestHop) {
  for (const int hops : {1, 3, 7})
    for (const int chunks : {1, 5, 40})
      for (const int slowest : {0, hops - 1}) {
        SCOPED_TRACE(testing::Message() << hops << " hops, " << chunks << " chunks");
        Sketch sketch(hops + 1);
        std::vector<std::int32_t> out;
        std::vector<std::int32_t> in;
        for (int hop = 0; hop < hops; ++hop) {
          const PortSketch port = {.rate = (hop == slowest ? 20 : 50) * kGigabyte,
                                   .window = 1,
                                   .latency_ps = 5 * kMillisecondPs};
          out.push_back(sketch.nic_out(hop, port));
          in.push_back(sketch.nic_in(hop + 1, port));
        }
        for (int chunk = 0; chunk < chunks; ++chunk)
          for (int hop = 0; hop < hops; ++hop) {
            const auto h = static_cast<std::size_t>(hop);
            const OpId op = sketch.transfer(hop, out[h], hop + 1, in[h], kSecond / 100);
            if (hop > 0) sketch.after(op, op - 1);
          }
        // 10 ms of bytes and 5 ms of latency; 25 ms of bytes on the slowest hop.
        expect_seconds(exact(sketch.seal()).refit_s, (hops - 1) * 0.015 + chunks * 0.030);
      }
}

// Under groups every rank passes one chunk on while it receives the next: c + k - 1 beats.
TEST(Replay, ChunksGoDownAChainGroupByGroup) {
  for (const int hops : {1, 3, 7})
    for (const int chunks : {1, 5, 40}) {
      SCOPED_TRACE(testing::Message() << hops << " hops, " << chunks << " chunks");
      Sketch sketch(hops + 1);
      sketch.header().discipline = Discipline::kGroups;
      std::vector<std::int32_t> out;
      std::vector<std::int32_t> in;
      for (int hop = 0; hop < hops; ++hop) {
        out.push_back(sketch.nic_out(hop));
        in.push_back(sketch.nic_in(hop + 1));
      }
      std::vector<OpId> landed(static_cast<std::size_t>(chunks));  // the chunk's last hop
      for (int beat = 0; beat < chunks + hops - 1; ++beat)
        for (int hop = 0; hop < hops; ++hop) {
          const int chunk = beat - hop;
          if (chunk < 0 || chunk >= chunks) continue;
          const auto h = static_cast<std::size_t>(hop);
          const OpId op = sketch.transfer(hop, out[h], hop + 1, in[h], kSecond / 100, beat);
          if (hop > 0) sketch.after(op, landed[static_cast<std::size_t>(chunk)]);
          landed[static_cast<std::size_t>(chunk)] = op;
        }
      expect_seconds(exact(sketch.seal()).refit_s, (chunks + hops - 1) * 0.010);
    }
}

// Three empty transfers of one rank: launches end at 10, 20, 30 ms, each lands 5 ms later.
TEST(Replay, LaunchesOfALaneQueue) {
  Sketch sketch(2);
  const std::int32_t out =
      sketch.nic_out(0, {.latency_ps = 5 * kMillisecondPs, .occupancy_ps = 10 * kMillisecondPs});
  const std::int32_t in = sketch.nic_in(1);
  for (int i = 0; i < 3; ++i) sketch.transfer(0, out, 1, in, 0);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[0], 0.015);
  expect_seconds(result.times.finish_s[1], 0.025);
  expect_seconds(result.times.finish_s[2], 0.035);
  EXPECT_EQ(result.critical_path, (std::vector<OpId>{0, 1, 2}));
  EXPECT_EQ(result.bottleneck, "launches in lane net-out of rank 0: busy 86 %");  // 30 of 35 ms
}

// Senders 0 and 1 launch for 10 ms each, the receiver takes 20 ms for each of the two: it is
// through with the first at 20 and with the second at 40 ms. A one-sided receiver launches nothing.
TEST(Replay, TheReceiverLaunchesToo) {
  for (const bool one_sided : {false, true}) {
    Sketch sketch(3);
    sketch.header().one_sided = one_sided;
    const std::int32_t in = sketch.nic_in(2, {.occupancy_ps = 20 * kMillisecondPs});
    sketch.transfer(0, sketch.nic_out(0, {.occupancy_ps = 10 * kMillisecondPs}), 2, in, 0);
    sketch.transfer(1, sketch.nic_out(1, {.occupancy_ps = 10 * kMillisecondPs}), 2, in, 0);
    const SimulationResult result = exact(sketch.seal());
    expect_seconds(result.times.finish_s[0], one_sided ? 0.010 : 0.020);
    expect_seconds(result.times.finish_s[1], one_sided ? 0.010 : 0.040);
  }
}

// Two transfers of 1 s, each with 100 ms of latency: one after the other 2.2 s; together both flow
// from 0.1 s on and share the port until 2.1 s.
TEST(Replay, TheWindowLimitsWhatIsInFlight) {
  for (const std::uint32_t window : {1u, 2u}) {
    Sketch sketch(2);
    const std::int32_t out =
        sketch.nic_out(0, {.window = window, .latency_ps = 100 * kMillisecondPs});
    const std::int32_t in = sketch.nic_in(1);
    sketch.transfer(0, out, 1, in, kSecond);
    const OpId second = sketch.transfer(0, out, 1, in, kSecond);
    const SimulationResult result = exact(sketch.seal());
    expect_seconds(result.refit_s, window == 1 ? 2.2 : 2.1);
    expect_seconds(result.times.posted_source_s[second], window == 1 ? 1.1 : 0.0);
    expect_seconds(result.times.posted_destination_s[second], 0.0);
    EXPECT_EQ(result.critical_path.size(), window == 1 ? 2u : 1u);
  }
}

// Groups: rank 0 issues group 0 = {0->1 (1 s), 0->2 (2 s)}: both at half rate until 2 s, the second
// alone until 3 s. Only then group 1 = {0->1 (1 s)}, until 4 s. Ranks 3 and 4 are not concerned:
// 3->4 ends at 1 s, and their group 1 follows at once, until 2 s.
TEST(Replay, ARankIssuesAGroupWhenItsLastOneIsComplete) {
  Sketch sketch(5);
  sketch.header().discipline = Discipline::kGroups;
  const std::int32_t out = sketch.nic_out(0);
  const std::int32_t in = sketch.nic_in(1);
  const std::int32_t out_3 = sketch.nic_out(3);
  const std::int32_t in_4 = sketch.nic_in(4);
  const OpId a = sketch.transfer(0, out, 1, in, kSecond, 0);
  const OpId b = sketch.transfer(0, out, 2, sketch.nic_in(2), 2 * kSecond, 0);
  const OpId other_0 = sketch.transfer(3, out_3, 4, in_4, kSecond, 0);
  const OpId c = sketch.transfer(0, out, 1, in, kSecond, 1);
  const OpId other_1 = sketch.transfer(3, out_3, 4, in_4, kSecond, 1);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[a], 2.0);
  expect_seconds(result.times.finish_s[b], 3.0);
  expect_seconds(result.times.finish_s[c], 4.0);
  expect_seconds(result.times.posted_source_s[c], 3.0);
  expect_seconds(result.times.posted_destination_s[c], 2.0);  // rank 1 was through with its group 0
  expect_seconds(result.times.finish_s[other_0], 1.0);
  expect_seconds(result.times.finish_s[other_1], 2.0);
  EXPECT_EQ(result.critical_path, (std::vector<OpId>{b, c}));
}

// Chain of three hops over one port pair each, 10 ms of latency per hop, pieces of 0.1 s: the first
// byte of hop k flows at 10 + k * (100 + 10) ms, so hops end at 1.01, 1.12 and 1.23 s.
TEST(Replay, StreamHopsFillLikeAPipe) {
  Sketch sketch(4);
  sketch.header().piece_bytes = kSecond / 10;
  std::vector<OpId> hops;
  for (int rank = 0; rank < 3; ++rank) {
    hops.push_back(sketch.transfer(rank, sketch.nic_out(rank, {.latency_ps = 10 * kMillisecondPs}),
                                   rank + 1, sketch.nic_in(rank + 1), kSecond));
    if (rank > 0) sketch.stream(hops[hops.size() - 1], hops[hops.size() - 2]);
  }
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[hops[0]], 1.01);
  expect_seconds(result.times.finish_s[hops[1]], 1.12);
  expect_seconds(result.times.finish_s[hops[2]], 1.23);
  expect_seconds(result.times.start_s[hops[2]], 0);
}

// The downstream hop has a port ten times as fast: its bytes are through at 0.1 (first piece) + 0.1
// s, but it can only end with its upstream, at 1 s. What waits for it starts then.
TEST(Replay, AStreamHopEndsNoEarlierThanItsUpstream) {
  Sketch sketch(3);
  sketch.header().piece_bytes = kSecond / 10;
  const PortSketch fast = {.rate = 500 * kGigabyte};
  const OpId slow_hop = sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kSecond);
  const std::int32_t out = sketch.nic_out(1, fast);
  const std::int32_t in = sketch.nic_in(2, fast);
  const OpId fast_hop = sketch.transfer(1, out, 2, in, kSecond);
  const OpId next = sketch.transfer(1, out, 2, in, kSecond);
  sketch.stream(fast_hop, slow_hop);
  sketch.after(next, fast_hop);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[fast_hop], 1.0);
  expect_seconds(result.times.finish_s[next], 1.1);
  EXPECT_EQ(result.critical_path, (std::vector<OpId>{slow_hop, fast_hop, next}));
}

// HBM of 1000 GB/s, read and write counted: 100 GB take 0.2 s. At runs of 128 bytes (table: 0.25)
// 0.8 s, at 384, halfway between 256 (0.5) and 512 (1.0), 0.2 / 0.75. Pack and unpack share the
// link: 0.4 s each.
TEST(Replay, CopiesReadAndWriteOnTheHbmLink) {
  const auto hbm = [](Sketch& sketch) {
    return sketch.port(PortKind::kPack, LinkKind::kHbm, 0, {.rate = 1000 * kGigabyte});
  };
  const Sketch::CopyRates table = {{128, 250'000}, {256, 500'000}, {512, 1'000'000}};
  const std::vector<std::pair<std::uint32_t, double>> cases = {
      {0, 0.2}, {64, 0.8}, {128, 0.8}, {384, 0.2 / 0.75}, {4096, 0.2}};
  for (const auto& [run_bytes, seconds] : cases) {
    Sketch sketch(1, table);
    sketch.copy(OpRole::kPack, 0, hbm(sketch), 100 * kGigabyte, run_bytes);
    expect_seconds(exact(sketch.seal()).refit_s, seconds);
  }
  Sketch sketch(1, table);
  const std::int32_t pack = hbm(sketch);
  const std::int32_t unpack = sketch.port_on(PortKind::kUnpack, sketch.link_of(pack), 0, {});
  sketch.copy(OpRole::kPack, 0, pack, 100 * kGigabyte);
  sketch.copy(OpRole::kUnpack, 0, unpack, 100 * kGigabyte);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[0], 0.4);
  expect_seconds(result.times.finish_s[1], 0.4);
}

// Links of rate 0 cost no time: one free end leaves the other's rate, two leave the latency.
TEST(Replay, FreeLinksCostNoTime) {
  Sketch sketch(3);
  const PortSketch free = {.rate = 0, .latency_ps = 3 * kMillisecondPs};
  const OpId half =
      sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1, {.rate = 0}), kSecond);
  const OpId none = sketch.transfer(1, sketch.nic_out(1, free), 2, sketch.nic_in(2, free), kSecond);
  const OpId copy = sketch.copy(
      OpRole::kLocal, 2, sketch.port(PortKind::kPack, LinkKind::kHbm, 2, {.rate = 0}), kSecond);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[half], 1.0);
  expect_seconds(result.times.finish_s[none], 0.003);
  expect_seconds(result.times.finish_s[copy], 0.0);
}

// Export 2 s and 3 s on a host port of window 1, a fence behind both, then a transfer of 1 s.
TEST(Replay, HostWorkAndFencesHoldBackWhatWaitsForThem) {
  Sketch sketch(2);
  const std::int32_t host =
      sketch.port(PortKind::kHost, LinkKind::kHost, 0, {.rate = 0, .window = 1});
  const OpId first = sketch.host(OpRole::kExport, 0, host, 2 * kPicosecondsPerSecond);
  const OpId second = sketch.host(OpRole::kExport, 0, host, 3 * kPicosecondsPerSecond);
  const OpId fence = sketch.fence(0);
  const OpId send = sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kSecond);
  sketch.after(fence, first);
  sketch.after(fence, second);
  sketch.after(send, fence);
  const SimulationResult result = exact(sketch.seal());
  expect_seconds(result.times.finish_s[first], 2.0);
  expect_seconds(result.times.finish_s[second], 5.0);
  expect_seconds(result.times.start_s[fence], 5.0);
  expect_seconds(result.times.finish_s[fence], 5.0);
  expect_seconds(result.refit_s, 6.0);
  EXPECT_EQ(result.critical_path, (std::vector<OpId>{first, second, fence, send}));
  EXPECT_EQ(result.bottleneck, "host of rank 0: busy 83 %");  // 5 of 6 s
}

// Rates of bytes per second and transfers of single bytes are as exact as big ones.
TEST(Replay, TinyJobsAreExact) {
  Sketch slow(2);
  slow.transfer(0, slow.nic_out(0, {.rate = 1}), 1, slow.nic_in(1, {.rate = 1}), 7);
  expect_seconds(exact(slow.seal()).refit_s, 7.0);
  // Two bytes at 50 GB/s, one after the other: 40 ps.
  Sketch fast(2);
  const std::int32_t out = fast.nic_out(0, {.window = 1});
  const std::int32_t in = fast.nic_in(1);
  fast.transfer(0, out, 1, in, 1);
  fast.transfer(0, out, 1, in, 1);
  EXPECT_NEAR(exact(fast.seal()).refit_s, 40e-12, 1e-16);
}

TEST(Replay, AStalledPlanNamesItsFirstOperation) {
  Sketch sketch(3);
  const std::int32_t out = sketch.nic_out(0);
  sketch.transfer(0, out, 1, sketch.nic_in(1), kSecond);
  const std::int32_t in = sketch.nic_in(2);
  const OpId a = sketch.transfer(0, out, 2, in, kSecond);
  const OpId b = sketch.transfer(0, out, 2, in, kSecond);
  sketch.after(a, b);
  sketch.after(b, a);
  const Plan plan = sketch.seal();
  try {
    simulate(plan);
    FAIL() << "a cycle cannot end";
  } catch (const RunFailure& failure) {
    EXPECT_STREQ(
        failure.what(),
        "simulation: the plan stalls: 2 operations can never start; the first is operation 1 "
        "(inject, rank 0 to rank 2)");
  }
}

TEST(Replay, ALinkHasOneDirection) {
  Sketch sketch(2);
  const std::int32_t out = sketch.nic_out(0);
  const std::int32_t in = sketch.port_on(PortKind::kNicIn, sketch.link_of(out), 1, {});
  sketch.transfer(0, out, 1, in, 1);
  EXPECT_THROW(simulate(sketch.seal()), InputError);
}

}  // namespace
}  // namespace transload
