// checkpoint-engine's buckets, rounds and limits on small jobs by hand.
#include <vector>

#include "planner/strategy/checkpoint_buckets.h"
#include "planner/strategy/checkpoint_readers.h"
#include "planner/strategy/fabric.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

using testing::choice_of;
using testing::limits_of;
using testing::PairBytes;
using testing::pairs_of;
using testing::plan_of;
using testing::small_job;

// Ranks 0 and 1 hold three tensors of 40, 30 and 30 bytes; ranks 2 and 3 want all of them.
const char* const kThreeTensors =
    "  - {name: a, shape: [40], dtype: uint8, source: {mesh: {dp: 2}, placements: [R], ranks: "
    "0-1}, "
    "destination: {mesh: {dp: 2}, placements: [R], ranks: 2-3}}\n"
    "  - {name: b, shape: [30], dtype: uint8, source: {mesh: {dp: 2}, placements: [R], ranks: "
    "0-1}, "
    "destination: {mesh: {dp: 2}, placements: [R], ranks: 2-3}}\n"
    "  - {name: c, shape: [30], dtype: uint8, source: {mesh: {dp: 2}, placements: [R], ranks: "
    "0-1}, "
    "destination: {mesh: {dp: 2}, placements: [R], ranks: 2-3}}\n";

StrategyChoice with_buckets(const char* name, std::int64_t bytes) {
  StrategyChoice choice = choice_of(name);
  choice.bucket_bytes = bytes;
  return choice;
}

// a to rank 0, b and c to rank 1 (40 against 30, then 40 against 60). A bucket of 50 bytes holds
// one tensor: c would overflow b's, and is not cut.
TEST(CheckpointEngine, BucketsHoldWholeTensorsOfOneOwner) {
  const Job job = small_job(kThreeTensors, 4);
  PlanBuilder builder;
  add_fabric(builder, job.topology, job.problem);
  for (const TensorGroup& group : job.problem.groups)
    for (std::uint32_t i = 0; i < group.count; ++i)
      builder.add_tensor(job.problem.names[group.first + i], group.shape, group.dtype);
  const std::vector<OwnerBuckets> owners = make_owner_buckets(builder, job.problem, 50);
  ASSERT_EQ(owners.size(), 2u);
  ASSERT_EQ(owners[0].buckets.size(), 1u);
  EXPECT_EQ(owners[0].buckets[0].bytes, 40);
  ASSERT_EQ(owners[1].buckets.size(), 2u);
  EXPECT_EQ(owners[1].buckets[0].bytes, 30);
  EXPECT_EQ(make_owner_buckets(builder, job.problem, 60)[1].buckets.size(), 1u);
}

// Broadcasts one after the other along the chain of engines; single-GPU nodes have no NVLink and
// one rail, so both of the two rails' halves take it.
TEST(CheckpointEngine, BroadcastsEveryBucketToAllEngines) {
  const Plan plan = plan_of(small_job(kThreeTensors, 4), with_buckets("checkpoint-engine", 50));
  EXPECT_EQ(pairs_of(plan, OpRole::kCollective),
            (PairBytes{{{0, 2}, 40}, {{1, 2}, 60}, {{2, 3}, 100}}));
  std::size_t loads = 0;
  for (OpId op = 0; op < plan.operations(); ++op)
    loads += op_role(plan, op) == OpRole::kLoad ? 1 : 0;
  EXPECT_EQ(loads, 6u);  // three buckets, two engines
}

// One bucket travels at a time: every hop of bucket g + 1 waits for the barrier behind bucket g.
TEST(CheckpointEngine, ABarrierStandsBetweenBuckets) {
  const Plan plan = plan_of(small_job(kThreeTensors, 4), with_buckets("checkpoint-engine", 50));
  OpId last_fence = 0;
  bool any = false;
  std::uint32_t bucket = 0;
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) == OpKind::kFence) last_fence = op;
    if (op_role(plan, op) != OpRole::kCollective) continue;
    if (any && plan.op_chunk[op] == bucket) continue;
    bucket = plan.op_chunk[op];
    const auto after = op_after(plan, op);
    EXPECT_TRUE(std::find(after.begin(), after.end(), last_fence) != after.end()) << op;
    any = true;
  }
  EXPECT_TRUE(any);
}

// The owners do not act: engines read the buckets, one per owner's NIC and round (a and b, then c),
// and broadcast them among themselves.
TEST(CheckpointEngine, P2pModeReadsOverTheEnginesNics) {
  const Plan plan = plan_of(small_job(kThreeTensors, 4), with_buckets("checkpoint-engine:p2p", 50));
  EXPECT_EQ(pairs_of(plan, OpRole::kInject), (PairBytes{{{0, 2}, 40}, {{1, 2}, 30}, {{1, 3}, 30}}));
  EXPECT_EQ(pairs_of(plan, OpRole::kCollective), (PairBytes{{{2, 3}, 70}, {{3, 2}, 30}}));
}

// Two owners on one NIC each and three engines' NICs: at most two receivers, and a pass ends where
// an owner's NIC would be used twice.
TEST(CheckpointEngine, APassUsesEveryOwnersNicOnce) {
  const Job job = small_job(kThreeTensors, 5);
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem);
  std::vector<OwnerBuckets> owners(2);
  owners[0] = {0, std::vector<Bucket>(3)};
  owners[1] = {1, std::vector<Bucket>(1)};
  const std::vector<BucketRound> rounds = read_rounds(owners, {2, 3}, fabric);
  // Flattened: 0.b0, 1.b0, 0.b1, 0.b2. Rounds: (0.b0, 1.b0), (0.b1), (0.b2).
  ASSERT_EQ(rounds.size(), 3u);
  ASSERT_EQ(rounds[0].size(), 2u);
  EXPECT_EQ(rounds[0][0].bucket, &owners[0].buckets[0]);
  EXPECT_EQ(rounds[0][0].rank, 2);
  EXPECT_EQ(rounds[0][1].bucket, &owners[1].buckets[0]);
  EXPECT_EQ(rounds[0][1].rank, 3);
  EXPECT_EQ(rounds[1].size(), 1u);
  EXPECT_EQ(rounds[2][0].bucket, &owners[0].buckets[2]);
}

// 80 GB GPUs without weights worth mention leave 0.9 x 80 GB free: three buffers of 24 GB, so the
// limit of 8 GiB counts; a tensor above a third but not above half takes two buffers. An engine's
// GPU holds an eighth of the tensor, the owner's copy lies in host memory.
TEST(CheckpointEngine, BucketSizesFollowTheFreeMemory) {
  const auto shape = [](const std::string& elements) {
    const Job job = job_from_text(
        "topology: {name: dgx-h100, nodes: 2}\ntensors:\n  - {name: w, shape: [" + elements +
            "], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0}, destination: "
            "{mesh: {x: 8}, placements: [S(0)], ranks: 8-15}}\n",
        "job.yaml", "");
    return bucket_shape(job, load_checkpoint_constants(), std::nullopt);
  };
  ASSERT_TRUE(shape("1000000"));
  EXPECT_EQ(shape("1000000")->bytes, std::int64_t{8} << 30);
  EXPECT_TRUE(shape("1000000")->third_buffer);
  ASSERT_TRUE(shape("24000000000"));  // free (80 - 3) x 0.9 = 69.3: above 23.1, below 34.65
  EXPECT_FALSE(shape("24000000000")->third_buffer);
  EXPECT_FALSE(shape("40000000000"));  // free (80 - 5) x 0.9 = 67.5, half is 33.75
}

TEST(CheckpointEngine, RefusesTensorsThatNobodyHasWhole) {
  const auto limits = limits_of(
      small_job(
          "  - {name: w, shape: [10], dtype: uint8, source: {mesh: {x: 2}, placements: "
          "[S(0)], ranks: 0-1}, destination: {mesh: {x: 2}, placements: [S(0)], ranks: 2-3}}\n",
          4),
      "checkpoint-engine");
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits.at("whole tensors in the host memory of one rank").value,
            "parts of it on 2 source ranks");
}

}  // namespace
}  // namespace transload
