// The closed-form estimate: exact where its reasoning is exact, and within 3 % of the replay on
// long jobs.
#include "simulator/estimate.h"

#include <gtest/gtest.h>

#include "common/units.h"
#include "simulator/simulate.h"
#include "tests/simulator/sketch.h"

namespace transload {
namespace {

constexpr std::uint64_t kSecond = 50 * kGigabyte;

// The busier port has 3 s of bytes, its first byte flows after launch (10 ms) and latency (5 ms).
TEST(Estimate, IsTheBusiestPortBehindItsFill) {
  Sketch sketch(3);
  const PortSketch port = {.latency_ps = 5 * kMillisecondPs, .occupancy_ps = 10 * kMillisecondPs};
  const std::int32_t out = sketch.nic_out(0, port);
  const std::int32_t in = sketch.nic_in(1, port);
  sketch.transfer(0, out, 1, in, kSecond);
  sketch.transfer(0, out, 1, in, 2 * kSecond);
  sketch.transfer(2, sketch.nic_out(2, port), 1, sketch.nic_in(1, port), 2 * kSecond);
  EXPECT_NEAR(closed_form_seconds(sketch.seal()), 3.015, 1e-9);
}

// 1000 empty transfers: 10 s of launches in one lane, then the last one's latency of 5 ms.
TEST(Estimate, CountsLaunchesOfALane) {
  Sketch sketch(2);
  const std::int32_t out =
      sketch.nic_out(0, {.latency_ps = 5 * kMillisecondPs, .occupancy_ps = 10 * kMillisecondPs});
  const std::int32_t in = sketch.nic_in(1);
  for (int i = 0; i < 1000; ++i) sketch.transfer(0, out, 1, in, 0);
  const Plan plan = sketch.seal();
  EXPECT_NEAR(closed_form_seconds(plan), 10.005, 1e-9);
  EXPECT_NEAR(simulate(plan, {.exact = true}).refit_s, 10.005, 1e-9);
}

// A published system's host time per copy counts as launch: the lane issues nothing meanwhile, and
// the bytes flow after it. Four copies of 25 GB (0.05 s at 1000 GB/s, read and write), 1 ms of
// occupancy and 99 ms of host time each: launches end at 0.1, 0.2, 0.3, 0.4 s, the last copy at
// 0.45 s. Without the host time it would be 0.001 + 4 x 0.05 s: launches hide behind bytes.
TEST(Estimate, CountsHostTimeOfCopiesAsLaunch) {
  for (const bool with_host_time : {false, true}) {
    Sketch sketch(1);
    const std::int32_t pack =
        sketch.port(PortKind::kPack, LinkKind::kHbm, 0,
                    {.rate = 1000 * kGigabyte, .occupancy_ps = kMillisecondPs});
    for (int i = 0; i < 4; ++i)
      sketch.copy(OpRole::kPack, 0, pack, 25 * kGigabyte, 0,
                  with_host_time ? 99 * kMillisecondPs : 0);
    const Plan plan = sketch.seal();
    const double expected = with_host_time ? 0.45 : 0.201;
    EXPECT_NEAR(simulate(plan, {.exact = true}).refit_s, expected, 1e-9);
    EXPECT_NEAR(closed_form_seconds(plan), expected, 1e-9);
  }
}

// The same cost on a transfer is none: only copies and host work have one.
TEST(Estimate, HostTimeIsOfCopiesAndHostWorkOnly) {
  Sketch sketch(2);
  const OpId send = sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kSecond);
  Plan plan = sketch.seal();
  PlanTables tables = thaw_plan(plan);
  tables.op_cost_ps[send] = 100 * kMillisecondPs;
  plan = seal_plan(plan.header(), tables);
  EXPECT_NEAR(simulate(plan, {.exact = true}).refit_s, 1.0, 1e-9);
  EXPECT_NEAR(closed_form_seconds(plan), 1.0, 1e-9);
}

// Two exports of 2 s on a host port of window 1, a fence, a transfer of 1 s, a fence, a load of 3
// s.
TEST(Estimate, AddsHostWorkAndStretchesBetweenFences) {
  Sketch sketch(2);
  const PortSketch host = {.rate = 0, .window = 1};
  const std::int32_t exporter = sketch.port(PortKind::kHost, LinkKind::kHost, 0, host);
  const std::int32_t loader = sketch.port(PortKind::kHost, LinkKind::kHost, 1, host);
  const OpId first = sketch.host(OpRole::kExport, 0, exporter, 2 * kPicosecondsPerSecond);
  const OpId second = sketch.host(OpRole::kExport, 0, exporter, 2 * kPicosecondsPerSecond);
  const OpId exported = sketch.fence(0);
  const OpId send = sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kSecond);
  const OpId sent = sketch.fence(1);
  const OpId load = sketch.host(OpRole::kLoad, 1, loader, 3 * kPicosecondsPerSecond);
  sketch.after(exported, first);
  sketch.after(exported, second);
  sketch.after(send, exported);
  sketch.after(sent, send);
  sketch.after(load, sent);
  const Plan plan = sketch.seal();
  EXPECT_NEAR(closed_form_seconds(plan), 8.0, 1e-9);
  EXPECT_NEAR(simulate(plan, {.exact = true}).refit_s, 8.0, 1e-9);
}

// Eight sources, eight destinations, each chunk packed, sent, unpacked, windows of 4: the pipeline
// of a refit.
TEST(Estimate, IsWithinThreePercentOfTheReplayOnALongJob) {
  Sketch sketch(16);
  const PortSketch nic = {
      .window = 4, .latency_ps = kMillisecondPs / 50, .occupancy_ps = kMillisecondPs / 100};
  const PortSketch hbm = {.rate = 1000 * kGigabyte, .window = 4};
  std::vector<std::int32_t> out, in, pack, unpack;
  for (int i = 0; i < 8; ++i) {
    out.push_back(sketch.nic_out(i, nic));
    in.push_back(sketch.nic_in(8 + i, nic));
    pack.push_back(sketch.port(PortKind::kPack, LinkKind::kHbm, i, hbm));
    unpack.push_back(sketch.port(PortKind::kUnpack, LinkKind::kHbm, 8 + i, hbm));
  }
  for (int round = 0; round < 400; ++round)
    for (int i = 0; i < 8; ++i) {
      const int to = (i + round) % 8;
      const auto s = static_cast<std::size_t>(i);
      const auto d = static_cast<std::size_t>(to);
      const std::uint64_t bytes = 24'000'000;
      const OpId packed = sketch.copy(OpRole::kPack, i, pack[s], bytes);
      const OpId sent = sketch.transfer(i, out[s], 8 + to, in[d], bytes);
      const OpId unpacked = sketch.copy(OpRole::kUnpack, 8 + to, unpack[d], bytes);
      sketch.after(sent, packed);
      sketch.after(unpacked, sent);
    }
  const Plan plan = sketch.seal();
  const SimulationResult result = simulate(plan, {.exact = true});
  // 400 chunks of 24 MB at 50 GB/s are 192 ms.
  EXPECT_GT(result.refit_s, 0.192);
  EXPECT_NEAR(result.estimate_s, result.refit_s, 0.03 * result.refit_s);
}

TEST(Estimate, StreamHopsOnlyAddTheirFill) {
  Sketch sketch(4);
  sketch.header().piece_bytes = kSecond / 10;
  OpId last = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const OpId hop =
        sketch.transfer(rank, sketch.nic_out(rank, {.latency_ps = 10 * kMillisecondPs}), rank + 1,
                        sketch.nic_in(rank + 1), kSecond);
    if (rank > 0) sketch.stream(hop, last);
    last = hop;
  }
  // 2 x (10 ms + a piece of 100 ms) until the last hop starts, its own 10 ms and 1 s.
  EXPECT_NEAR(closed_form_seconds(sketch.seal()), 1.23, 1e-9);
}

}  // namespace
}  // namespace transload
