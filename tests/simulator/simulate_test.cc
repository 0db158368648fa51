// What a prediction reports besides the times of operations, and that predictions do not disturb
// each other.
#include "simulator/simulate.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <functional>
#include <stdexcept>

#include "common/error.h"
#include "common/units.h"
#include "simulator/replay/child_process.h"
#include "tests/simulator/sketch.h"

namespace transload {
namespace {

constexpr std::uint64_t kSecond = 50 * kGigabyte;

// Rank 0 packs 100 GB into a slot (0.2 s at 1000 GB/s, read and write), sends it (2 s), rank 1
// unpacks it (0.2 s) and then loads it for 0.6 s. 3 s in all.
Plan pack_send_unpack() {
  Sketch sketch(3);
  PlanBuilder& builder = sketch.builder();
  const std::array<std::int64_t, 2> bounds = {0, 1000};
  builder.add_dense_shard(0, Side::kSource, 0, 1, bounds);
  builder.add_dense_shard(1, Side::kDestination, 0, 1, bounds);
  builder.set_staging(0, SlotClass::kSend, 1, 100 * kGigabyte);
  builder.set_staging(1, SlotClass::kLand, 1, 100 * kGigabyte);
  const PortSketch hbm = {.rate = 1000 * kGigabyte};
  OpSpec op;
  op.bundle = 0;
  op.bytes = 100 * kGigabyte;
  op.key = 1;
  op.kind = OpKind::kCopy;
  op.role = OpRole::kPack;
  op.out_port = sketch.port(PortKind::kPack, LinkKind::kHbm, 0, hbm);
  op.destination_slot = 0;
  const OpId pack = builder.add_op(op);
  op.key = 2;
  op.kind = OpKind::kTransfer;
  op.role = OpRole::kInject;
  op.destination = 1;
  op.out_port = sketch.nic_out(0);
  op.in_port = sketch.nic_in(1);
  op.source_slot = 0;
  const OpId send = builder.add_op(op);
  op.key = 3;
  op.kind = OpKind::kCopy;
  op.role = OpRole::kUnpack;
  op.source = 1;
  op.out_port = sketch.port(PortKind::kUnpack, LinkKind::kHbm, 1, hbm);
  op.in_port = kNone;
  op.destination_slot = kNone;
  const OpId unpack = builder.add_op(op);
  op = OpSpec{};
  op.key = 4;
  op.kind = OpKind::kHost;
  op.role = OpRole::kLoad;
  op.source = op.destination = 1;
  op.out_port = sketch.port(PortKind::kHost, LinkKind::kHost, 1, {.rate = 0, .window = 1});
  op.cost_ps = 600 * kMillisecondPs;
  const OpId load = builder.add_op(op);
  builder.add_after(send, pack);
  builder.add_after(unpack, send);
  builder.add_after(load, unpack);
  return sketch.seal();
}

TEST(Simulate, ReportsWhenSourcesAreFreeAndDestinationsReady) {
  const SimulationResult result = simulate(pack_send_unpack(), {.exact = true});
  EXPECT_NEAR(result.refit_s, 3.0, 1e-9);
  ASSERT_EQ(result.source_free_s.size(), 3u);
  EXPECT_NEAR(result.source_free_s[0], 0.2, 1e-9);  // the transfer reads the slot, not the weights
  EXPECT_TRUE(std::isnan(result.source_free_s[1]));
  EXPECT_TRUE(std::isnan(result.destination_ready_s[0]));
  EXPECT_NEAR(result.destination_ready_s[1], 3.0, 1e-9);
  EXPECT_TRUE(std::isnan(result.destination_ready_s[2]));
}

TEST(Simulate, ReportsPhasesByRole) {
  const SimulationResult result = simulate(pack_send_unpack(), {.exact = true});
  ASSERT_EQ(result.phases.size(), 4u);
  EXPECT_EQ(result.phases[0].name, "pack");
  EXPECT_EQ(result.phases[1].name, "unpack");
  EXPECT_EQ(result.phases[2].name, "inject");
  EXPECT_EQ(result.phases[3].name, "load");
  EXPECT_NEAR(result.phases[2].start_s, 0.2, 1e-9);
  EXPECT_NEAR(result.phases[2].finish_s, 2.2, 1e-9);
  EXPECT_EQ(result.phases[2].bytes, 100u * kGigabyte);
  EXPECT_EQ(result.phases[3].bytes, 0u);
  EXPECT_EQ(result.phases[3].operations, 1u);
}

TEST(Simulate, ReportsLinksAndBottleneck) {
  const SimulationResult result = simulate(pack_send_unpack(), {.exact = true});
  ASSERT_EQ(result.links.size(), 5u);
  EXPECT_EQ(result.links[0].name, "hbm.0");
  EXPECT_EQ(result.links[0].kind, "hbm");
  EXPECT_EQ(result.links[0].bytes, 200u * kGigabyte);
  EXPECT_NEAR(result.links[0].busy_s, 0.2, 1e-9);
  EXPECT_EQ(result.links[1].name, "nic-out.0");
  EXPECT_EQ(result.links[1].bytes, 100u * kGigabyte);
  EXPECT_NEAR(result.links[1].utilisation, 2.0 / 3.0, 1e-9);
  EXPECT_EQ(result.links[4].kind, "host");
  EXPECT_NEAR(result.links[4].busy_s, 0.6, 1e-9);
  EXPECT_EQ(result.bottleneck, "nic-out of rank 0: busy 67 %");
  EXPECT_EQ(result.critical_path, (std::vector<OpId>{0, 1, 2, 3}));
}

// Ranks 0 to 3 send `transfers` chunks of 10 ms each to ranks 4 to 7 in turn.
Plan shifts(int transfers, std::uint32_t window) {
  Sketch sketch(8);
  std::vector<std::int32_t> out;
  std::vector<std::int32_t> in;
  for (int i = 0; i < 4; ++i) {
    out.push_back(sketch.nic_out(i, {.window = window, .latency_ps = kMillisecondPs}));
    in.push_back(sketch.nic_in(4 + i, {.window = window}));
  }
  for (int round = 0; round < transfers; ++round)
    for (int i = 0; i < 4; ++i) {
      const int to = (i + round) % 4;
      sketch.transfer(i, out[static_cast<std::size_t>(i)], 4 + to, in[static_cast<std::size_t>(to)],
                      kSecond / 100 + static_cast<std::uint64_t>(i));
    }
  return sketch.seal();
}

TEST(Simulate, CanBeCalledAgainAndAgain) {
  const Plan first = shifts(20, 2);
  const Plan other = pack_send_unpack();
  const SimulationResult once = simulate(first);
  const double other_s = simulate(other).refit_s;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(simulate(first).times.finish_s, once.times.finish_s);
    EXPECT_EQ(simulate(other).refit_s, other_s);
  }
}

// 0.2 % of the 20 ms that each of the two transfers in flight takes; the ports are busy for 1 s of
// 1 s.
TEST(Simulate, IsAsCoarseAsItSaysAndNoCoarser) {
  const Plan plan = shifts(100, 2);
  const SimulationResult exact = simulate(plan, {.exact = true});
  const SimulationResult coarse = simulate(plan);
  EXPECT_LE(exact.precision_s, 1e-9);
  EXPECT_NEAR(coarse.precision_s, 0.002 * 0.020, 1e-9);
  EXPECT_GT(coarse.bias_bound, 0);
  EXPECT_LT(coarse.bias_bound, 0.005);
  EXPECT_NEAR(coarse.refit_s, exact.refit_s, coarse.bias_bound * exact.refit_s);
}

TEST(Simulate, AnEmptyPlanTakesNoTime) {
  const SimulationResult result = simulate(Sketch(2).seal());
  EXPECT_EQ(result.refit_s, 0);
  EXPECT_EQ(result.estimate_s, 0);
  EXPECT_TRUE(result.critical_path.empty());
  EXPECT_EQ(result.bottleneck, "");
}

TEST(Simulate, WritesNothingToStdout) {
  testing::internal::CaptureStdout();
  simulate(pack_send_unpack());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

std::string failure_of(const std::function<void()>& work) {
  try {
    ChildProcess("replay", work).wait();
  } catch (const RunFailure& failure) {
    return failure.what();
  }
  return "no failure";
}

TEST(ChildProcess, ItsEndIsTheParentsRunFailure) {
  EXPECT_EQ(failure_of([] {}), "no failure");
  EXPECT_EQ(failure_of([] { throw std::runtime_error("out of luck"); }), "replay: out of luck");
  EXPECT_EQ(failure_of([] { _exit(7); }), "replay: its process ended with code 7");
  EXPECT_EQ(failure_of([] { raise(SIGKILL); }),
            "replay: its process was ended by signal 9 (Killed)");
}

}  // namespace
}  // namespace transload
