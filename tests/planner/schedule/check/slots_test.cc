#include "tests/planner/schedule/check/expect_violation.h"

// Invariant 3: slots in time.

namespace transload::testing {
namespace {

TEST(CheckSlots, WriterMustWaitForTheReaders) {
  // Chunk 2 is packed (operation 6) into the slot that operation 1 sends from.
  expect_violation(
      edit(staged_plan(), [](PlanTables& t) { erase_edge(t.op_after_first, t.op_after, 6, 1); }),
      "staging", {"operation 6", "slot 0 of rank 0", "without waiting for operation 1"});
  // Chunk 2 lands (operation 7) in the slot that operation 2 unpacks from.
  expect_violation(
      edit(staged_plan(), [](PlanTables& t) { erase_edge(t.op_after_first, t.op_after, 7, 2); }),
      "staging", {"operation 7", "slot 2 of rank 1", "without waiting for operation 2"});
}

TEST(CheckSlots, EveryReaderCounts) {
  // A second round over fan-out's landing slot that waits for the unpack, not for the fan-out.
  const auto plan_with = [](bool waits) {
    HandPlan plan(4, 2);
    PlanBuilder& builder = plan.builder;
    const std::vector<std::int64_t> shape = {4};
    const std::vector<std::int64_t> all = {0, 4};
    for (const char* name : {"a", "b"}) builder.add_tensor(name, shape, DType::kF32);
    builder.add_dense_shard(0, Side::kSource, 0, 2, all);
    for (const std::int32_t rank : {2, 3})
      builder.add_dense_shard(rank, Side::kDestination, 0, 2, all);
    builder.set_staging(2, SlotClass::kLand, 1, 16);
    std::vector<OpId> readers;
    for (const std::uint32_t t : {0, 1}) {
      const std::vector<SliceSpec> slices = {{t, 1, 1, builder.add_box(all)}};
      const std::int32_t bundle = builder.add_bundle(slices);
      const OpId land = plan.transfer(OpRole::kInject, 0, 2, bundle, 0, 16, kNone, 0, readers);
      readers = {plan.copy(OpRole::kUnpack, 2, bundle, 0, 16, 0, kNone, {land})};
      const OpId fan = plan.transfer(OpRole::kFanOut, 2, 3, bundle, 0, 16, 0, kNone, {land});
      if (waits) readers.push_back(fan);
    }
    return plan.seal();
  };
  expect_right(plan_with(true));
  expect_violation(plan_with(false), "staging",
                   {"operation 3", "slot 0 of rank 2", "without waiting for operation 2"});
}

TEST(CheckSlots, WaitingThroughOtherOperationsIsEnough) {
  // Operation 6 waits for operation 1 through operation 2, the unpack that follows it.
  expect_right(edit(staged_plan(), [](PlanTables& t) {
    erase_edge(t.op_after_first, t.op_after, 6, 1);
    insert_edge(t.op_after_first, t.op_after, 6, 2);
  }));
}

TEST(CheckSlots, ForwardingStreamHopStandsForItsUpstream) {
  // Round 1's pack (operation 5) may wait for the unpack on rank 2 instead of the hop that reads
  // its slot: that unpack follows hop 1 -> 2, which ends no earlier than hop 0 -> 1, the reader.
  expect_right(edit(broadcast_plan(), [](PlanTables& t) {
    erase_edge(t.op_after_first, t.op_after, 5, 1);
    insert_edge(t.op_after_first, t.op_after, 5, 4);
  }));
}

TEST(CheckSlots, BucketWriterMustWaitForItsReaders) {
  expect_violation(
      edit(broadcast_plan(), [](PlanTables& t) { erase_edge(t.op_after_first, t.op_after, 6, 3); }),
      "staging", {"operation 6", "bucket slot 0 of rank 1", "without waiting for operation 3"});
}

TEST(CheckSlots, WrittenTwiceBeforeItIsRead) {
  // Chunk 1 is packed over chunk 0 before that leaves: keys 1 and 3 change places.
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {8};
  const std::vector<std::int64_t> all = {0, 8};
  const std::uint32_t tensor = plan.builder.add_tensor("w", shape, DType::kF32);
  plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, all);
  plan.builder.add_dense_shard(1, Side::kDestination, tensor, 1, all);
  plan.builder.set_staging(0, SlotClass::kSend, 2, 16);
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, plan.builder.add_box(all)}};
  const std::int32_t bundle = plan.builder.add_bundle(slices);
  const OpId first = plan.copy(OpRole::kPack, 0, bundle, 0, 16, kNone, 0);
  const OpId second = plan.copy(OpRole::kPack, 0, bundle, 16, 16, kNone, 1);
  plan.transfer(OpRole::kInject, 0, 1, bundle, 0, 16, 0, kNone, {first});
  plan.transfer(OpRole::kInject, 0, 1, bundle, 16, 16, 1, kNone, {second});
  const Plan right = plan.seal();
  expect_right(right);
  const CheckReport report = check_plan(edit(right, [](PlanTables& t) {
    t.op_destination_slot[1] = 0;
    t.op_source_slot[3] = 0;
  }));
  EXPECT_THAT(all_text(report),
              ::testing::HasSubstr("staging: operation 1 (pack, rank 0, bundle 0 bytes 16..32) "
                                   "writes chunk slot 0 of rank 0 again before anybody read what "
                                   "operation 0"));
}

// A ring all-gather: every rank packs its part into its bucket while parts of others land in it.
TEST(CheckSlots, SeveralWritersOfOneBucket) {
  HandPlan plan(2, 1);
  PlanBuilder& builder = plan.builder;
  const std::vector<std::int64_t> shape = {8};
  const std::vector<std::int64_t> all = {0, 8};
  const std::uint32_t tensor = builder.add_tensor("w", shape, DType::kF32);
  std::vector<SliceSpec> slices = {{tensor, 1, 1, builder.add_box(all)}};
  const std::int32_t bundle = builder.add_bundle(slices);
  std::vector<OpId> packs;
  for (const std::int32_t rank : {0, 1}) {
    const std::vector<std::int64_t> half = {4 * rank, 4 * rank + 4};
    builder.add_dense_shard(rank, Side::kSource, tensor, 1, half);
    builder.add_dense_shard(rank, Side::kDestination, tensor, 1, all);
    builder.set_staging(rank, SlotClass::kBucket, 1, 32);
    packs.push_back(
        plan.copy(OpRole::kPack, rank, bundle, 16u * static_cast<unsigned>(rank), 16, kNone, 0));
  }
  const OpId right = plan.transfer(OpRole::kCollective, 0, 1, bundle, 0, 16, 0, 0, {packs[0]});
  const OpId left = plan.transfer(OpRole::kCollective, 1, 0, bundle, 16, 16, 0, 0, {packs[1]});
  plan.copy(OpRole::kUnpack, 0, bundle, 0, 32, 0, kNone, {packs[0], left});
  plan.copy(OpRole::kUnpack, 1, bundle, 0, 32, 0, kNone, {packs[1], right});
  const Plan gathered = plan.seal();
  expect_right(gathered);
  // The hop takes 4 bytes more than rank 0 packed, and lands them on what rank 1 packed and sends.
  const CheckReport report = check_plan(edit(gathered, [](PlanTables& t) { t.op_bytes[2] = 20; }));
  ASSERT_EQ(report.violations.size(), 3u) << all_text(report);
  EXPECT_THAT(
      all_text(report),
      ::testing::AllOf(
          ::testing::HasSubstr("bytes 0..20) reads bucket slot 0 of rank 0 at byte 16 before"),
          ::testing::HasSubstr("bytes 0..20) writes bucket slot 0 of rank 1 without waiting "
                               "for operation 1")));
}

TEST(CheckSlots, StagingBeyondTheGpusMemory) {
  expect_violation(edit(staged_plan(), [](PlanTables& t) { t.rank_memory_bytes[1] = 200; }),
                   "staging", {"rank 1", "256 bytes of staging"});
}

}  // namespace
}  // namespace transload::testing
