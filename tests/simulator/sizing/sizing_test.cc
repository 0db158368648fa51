// What sizes a cluster, on plans whose times are computed by hand.
#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "common/error.h"
#include "simulator/sizing/availability.h"
#include "simulator/sizing/constants.h"
#include "simulator/sizing/first_refit.h"
#include "simulator/sizing/host_sources.h"
#include "simulator/sizing/link_rates.h"
#include "simulator/sizing/memory.h"
#include "simulator/sizing/refit_range.h"
#include "tests/simulator/sketch.h"

namespace transload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kSecond = 50 * kGigabyte;  // at 50 GB/s

// Ranks 0 and 1 hold the source, ranks 2 to 5 are two engines of two ranks. Rank 0 sends for 1, 2,
// 3 and 4 s in turn, one at a time, to ranks 2, 3, 4 and 5.
Sketch four_receivers() {
  Sketch sketch(6);
  const std::array<std::int64_t, 2> bounds = {0, 1000};
  for (const std::int32_t rank : {0, 1})
    sketch.builder().add_dense_shard(rank, Side::kSource, 0, 1, bounds);
  for (const std::int32_t rank : {2, 3, 4, 5})
    sketch.builder().add_dense_shard(rank, Side::kDestination, 0, 1, bounds);
  const std::int32_t out = sketch.nic_out(0, {.window = 1});
  for (int i = 0; i < 4; ++i)
    sketch.transfer(0, out, 2 + i, sketch.nic_in(2 + i),
                    kSecond * static_cast<std::uint64_t>(i + 1));
  return sketch;
}

ClusterFacts two_engines() {
  ClusterFacts facts;
  facts.stages = {{"stage 0", "megatron", {0}}, {"stage 1", "megatron", {1}}};
  facts.replicas = {{"destination replica 0", "vllm", {2, 3}},
                    {"destination replica 1", "vllm", {4, 5}}};
  return facts;
}

TEST(Sizing, ReplicasPauseFromTheirFirstWrite) {
  const Plan plan = four_receivers().seal();
  const Availability found = availability(plan, simulate(plan, {.exact = true}), two_engines());
  ASSERT_EQ(found.stages.size(), 2u);
  EXPECT_NEAR(found.stages[0].free_s, 10, 1e-6);
  EXPECT_EQ(found.stages[1].free_s, 0);
  ASSERT_EQ(found.replicas.size(), 2u);
  EXPECT_EQ(found.replicas[0].paused_from_s, 0);
  EXPECT_NEAR(found.replicas[0].ready_s, 3, 1e-6);  // 1 + 2
  EXPECT_NEAR(found.replicas[1].paused_from_s, 3, 1e-6);
  EXPECT_NEAR(found.replicas[1].ready_s, 10, 1e-6);
  EXPECT_NEAR(found.pause_s, 7, 1e-6);
  // Rank 0 for 10 s, rank 1 for none, two ranks for 3 s, two for 7 s.
  EXPECT_NEAR(found.gpu_s, 10 + 2 * 3 + 2 * 7, 1e-5);
}

TEST(Sizing, WithoutEnginesEveryRankIsItsOwnReplica) {
  const Plan plan = four_receivers().seal();
  const Availability found = availability(plan, simulate(plan, {.exact = true}), {});
  EXPECT_TRUE(found.stages.empty());
  ASSERT_EQ(found.replicas.size(), 4u);
  EXPECT_EQ(found.replicas[3].name, "rank 5");
  EXPECT_NEAR(found.pause_s, 4, 1e-6);
}

// Rank 0 has four peers; nothing is staged, so it registers the buffer that it sends from.
TEST(Sizing, FirstRefitConnectsToEveryPeerOnce) {
  const FirstRefitCosts costs = first_refit_costs(four_receivers().seal());
  const SizingConstants constants;
  EXPECT_EQ(costs.peers, 4u);
  EXPECT_NEAR(costs.connect_s, 4 * constants.seconds("connect_per_peer"), 1e-12);
  EXPECT_EQ(costs.registered_bytes, 1000u);
  EXPECT_EQ(costs.assumptions.size(), 2u);
}

TEST(Sizing, ConstantsLieWithinTheirPhysicalLimits) {
  const SizingConstants constants;
  EXPECT_GE(constants.seconds("connect_per_peer"), 0.001);
  EXPECT_LE(constants.seconds("connect_per_peer"), 10);
  EXPECT_GE(constants.bytes_per_s("register_rate"), 1e8);
  EXPECT_LE(constants.bytes_per_s("register_rate"), 1e12);
  for (const char* engine : {"vllm", "sglang", "trtllm"}) {
    EXPECT_GT(constants.share(std::string(engine) + "_memory_share"), 0.5);
    EXPECT_LE(constants.share(std::string(engine) + "_memory_share"), 1);
  }
}

Plan plan_with_memory(std::uint64_t memory, std::uint64_t destination_bytes,
                      std::uint64_t staging_slots) {
  PlanBuilder builder;
  builder.add_gpu_model({});
  for (int rank = 0; rank < 2; ++rank) builder.add_rank(rank, rank, 0, memory);
  builder.add_buffers(0, Side::kSource, 300, 1);
  builder.add_buffers(1, Side::kDestination, destination_bytes, 1);
  builder.set_staging(1, SlotClass::kLand, static_cast<std::uint32_t>(staging_slots), 10);
  const std::array<std::int64_t, 1> shape = {300};
  const std::array<std::int64_t, 2> bounds = {0, 300};
  const std::uint32_t tensor = builder.add_tensor("w", shape, DType::kU8);
  ShardSpec shard;
  shard.tensor_first = tensor;
  shard.box = builder.add_box(bounds);
  shard.loops = {{0, 300, 8}};
  builder.add_shard(0, shard);
  shard.side = Side::kDestination;
  builder.add_shard(1, shard);
  return builder.seal({});
}

ClusterFacts one_engine() {
  ClusterFacts facts;
  facts.replicas = {{"destination replica 0", "vllm", {1}}};
  return facts;
}

// vLLM keeps 900 of 1000 bytes, its 300 of weights among them; 10 slots of 10 bytes just fit, 11 do
// not.
TEST(Sizing, EnginesKeepTheirShareOfMemory) {
  const MemoryUse fits = memory_use(plan_with_memory(1000, 300, 10), one_engine());
  ASSERT_EQ(fits.ranks.size(), 2u);
  EXPECT_EQ(fits.ranks[0].needed_bytes, 300u);
  EXPECT_EQ(fits.ranks[1].peak_bytes, 400u);
  EXPECT_EQ(fits.ranks[1].reserved_bytes, 900u);
  EXPECT_EQ(fits.ranks[1].needed_bytes, 1000u);
  EXPECT_EQ(fits.fits, true);
  EXPECT_THAT(fits.assumptions, ElementsAre(HasSubstr("vllm_memory_share = 0.9")));
  EXPECT_EQ(memory_use(plan_with_memory(1000, 300, 11), one_engine()).fits, false);
  EXPECT_FALSE(memory_use(plan_with_memory(0, 300, 10), one_engine()).fits.has_value());
}

TEST(Sizing, ReservesCanBeGiven) {
  MemoryOptions options;
  options.source = parse_reserve("500B", "--source-reserve");
  options.destination = parse_reserve("50%", "--reserve");
  const MemoryUse use = memory_use(plan_with_memory(1000, 600, 10), one_engine(), options);
  EXPECT_EQ(use.ranks[0].needed_bytes, 800u);
  // Weights of 600 bytes take more than the half that was said.
  EXPECT_EQ(use.ranks[1].needed_bytes, 700u);
  EXPECT_TRUE(use.assumptions.empty());
  options.sources_on_host = true;
  EXPECT_EQ(
      memory_use(plan_with_memory(1000, 600, 10), one_engine(), options).ranks[0].needed_bytes,
      500u);
  for (const char* wrong : {"most", "-1", "120%", "1.5", "5GB%"})
    EXPECT_THROW(parse_reserve(wrong, "--reserve"), InputError) << wrong;
}

// One second at 50 GB/s and an efficiency of 0.8: 1.25 s; 1.25 / 0.5 at 0.4 and 1 s at 1.
TEST(Sizing, RangeIsTheRefitAtBothEnds) {
  Sketch sketch(2);
  sketch.transfer(0, sketch.nic_out(0, {.efficiency_ppm = 800'000}), 1,
                  sketch.nic_in(1, {.efficiency_ppm = 800'000}), kSecond);
  const std::vector<LinkRange> ranges = {{LinkFamily::kNic, 400'000, 800'000, 1'000'000},
                                         {LinkFamily::kNic, 100'000, 500'000, 1'000'000},
                                         {LinkFamily::kCopy, 760'000, 860'000, 870'000}};
  const Plan plan = sketch.seal();
  const RefitRange range = refit_range(plan, ranges, 1.25, {.exact = true});
  EXPECT_NEAR(range.low_s, 1, 1e-6);
  EXPECT_EQ(range.likely_s, 1.25);
  EXPECT_NEAR(range.high_s, 2.5, 1e-6);
  ASSERT_EQ(range.varies.size(), 1u) << "nothing is copied, and no NIC has 0.5";
  EXPECT_EQ(range.varies[0].name, "nic");
  EXPECT_DOUBLE_EQ(range.varies[0].low, 0.4);
  EXPECT_NEAR(range.varies[0].estimate_at_low_s, 2.5, 1e-9);
  EXPECT_NEAR(range.varies[0].estimate_at_high_s, 1, 1e-9);
}

TEST(Sizing, WithoutRangesNothingVaries) {
  Sketch sketch(2);
  sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kSecond);
  const RefitRange range = refit_range(sketch.seal(), {}, 1);
  EXPECT_TRUE(range.varies.empty());
  EXPECT_EQ(range.low_s, 1);
  EXPECT_EQ(range.high_s, 1);
}

TEST(Sizing, BackgroundTrafficTakesItsShare) {
  Sketch sketch(2);
  sketch.transfer(0, sketch.nic_out(0), 1, sketch.nic_in(1), kSecond);
  const Plan plan = with_background(sketch.seal(), 0.5);
  EXPECT_NEAR(simulate(plan, {.exact = true}).refit_s, 2, 1e-6);
}

// Links of the sketch are named "nic-out.0"; builders of real plans name them by their NIC.
TEST(Sizing, ANicAtAQuarterTakesFourTimesAsLong) {
  PlanBuilder builder;
  builder.add_gpu_model({});
  for (int rank = 0; rank < 2; ++rank) builder.add_rank(rank, rank, 0, 0);
  const std::array<std::int64_t, 1> shape = {kSecond};
  const std::array<std::int64_t, 2> bounds = {0, kSecond};
  const SliceSpec slice = {builder.add_tensor("w", shape, DType::kU8), 1, 1,
                           builder.add_box(bounds)};
  OpSpec op;
  op.bundle = builder.add_bundle(std::span(&slice, 1));
  op.destination = 1;
  op.bytes = kSecond;
  op.out_port = builder.add_port(
      PortKind::kNicOut, 0,
      builder.add_link(LinkKind::kNicOut, 50 * kGigabyte, 1'000'000, "node0.nic0.out"), 4, 0, 0,
      "o");
  op.in_port = builder.add_port(
      PortKind::kNicIn, 1,
      builder.add_link(LinkKind::kNicIn, 50 * kGigabyte, 1'000'000, "node1.nic0.in"), 4, 0, 0, "i");
  builder.add_link(LinkKind::kNicIn, 50 * kGigabyte, 1'000'000, "node0.nic0.in");
  builder.add_op(op);
  const Plan plan = builder.seal({});
  EXPECT_NEAR(simulate(with_slow_nics(plan, {{"node1.nic0", 250'000}}), {.exact = true}).refit_s, 4,
              1e-6);
  EXPECT_THROW(with_slow_nics(plan, {{"node1.nic0", 0}}), InputError) << "it is down and used";
  EXPECT_THROW(with_slow_nics(plan, {{"node2.nic0", 500'000}}), InputError) << "there is none";
}

// A pack of 100 GB reads over a host link of 25 GB/s instead of from an HBM of 1000 GB/s (which it
// loads with 200 GB): 4 s instead of 0.2 s. The transfer, from a slot, is as fast as before.
TEST(Sizing, SourcesOnTheHostComeOverItsLink) {
  Sketch sketch(2);
  sketch.builder().set_staging(0, SlotClass::kSend, 1, 100 * kGigabyte);
  OpSpec op;
  op.key = 1;
  op.kind = OpKind::kCopy;
  op.role = OpRole::kPack;
  op.bundle = 0;
  op.bytes = 100 * kGigabyte;
  op.out_port = sketch.port(PortKind::kPack, LinkKind::kHbm, 0, {.rate = 1000 * kGigabyte});
  op.destination_slot = 0;
  const OpId pack = sketch.builder().add_op(op);
  op.key = 2;
  op.kind = OpKind::kTransfer;
  op.role = OpRole::kInject;
  op.destination = 1;
  op.bytes = kSecond;
  op.out_port = sketch.nic_out(0);
  op.in_port = sketch.nic_in(1);
  op.source_slot = 0;
  op.destination_slot = kNone;
  sketch.builder().add_after(sketch.builder().add_op(op), pack);
  const Plan plan = sketch.seal();
  EXPECT_NEAR(simulate(plan, {.exact = true}).refit_s, 0.2 + 1, 1e-6);
  const std::array<std::int64_t, 2> rates = {25 * kGigabyte, 0};
  EXPECT_NEAR(simulate(with_host_sources(plan, rates), {.exact = true}).refit_s, 4 + 1, 1e-6);
  const std::array<std::int64_t, 2> unknown = {0, 0};
  EXPECT_THROW(with_host_sources(plan, unknown), InputError);
}

}  // namespace
}  // namespace transload
