#include "tests/planner/schedule/check/expect_violation.h"

// Invariant 1: each test breaks one rule of a right plan.

namespace transload::testing {
namespace {

constexpr const char* kInvariant = "exactly-once";

// Gives a slice or shard row a box of its own, so that only it changes.
std::uint64_t new_box(PlanTables& tables, const std::vector<std::int64_t>& bounds) {
  tables.bounds.insert(tables.bounds.end(), bounds.begin(), bounds.end());
  return tables.bounds.size() - bounds.size();
}

TEST(CheckBytes, SourceMustHoldWhatItSends) {
  // Row 0 of the shards is rank 0's; its rows 1..4 lack element (0, *).
  expect_violation(edit(direct_plan(),
                        [](PlanTables& t) {
                          t.shard_box[0] = new_box(t, {1, 4, 0, 8});
                          t.loop_length[0] = 3;
                        }),
                   kInvariant,
                   {"operation 0", "reads tensor w box [0,4) x [0,8)", "rank 0 does not hold"});
}

TEST(CheckBytes, SourceMustHoldOnlyTheRangeItReads) {
  // Two holders of half the rows each send half the bytes of one bundle: right.
  HandPlan plan(3, 1);
  const std::vector<std::int64_t> shape = {4, 8};
  const std::uint32_t tensor = plan.builder.add_tensor("w", shape, DType::kF32);
  const std::vector<std::int64_t> top = {0, 2, 0, 8};
  const std::vector<std::int64_t> bottom = {2, 4, 0, 8};
  const std::vector<std::int64_t> all = {0, 4, 0, 8};
  plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, top);
  plan.builder.add_dense_shard(1, Side::kSource, tensor, 1, bottom);
  plan.builder.add_dense_shard(2, Side::kDestination, tensor, 1, all);
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, plan.builder.add_box(all)}};
  const std::int32_t bundle = plan.builder.add_bundle(slices);
  plan.transfer(OpRole::kInject, 0, 2, bundle, 0, 64, kNone, kNone);
  plan.transfer(OpRole::kInject, 1, 2, bundle, 64, 64, kNone, kNone);
  const Plan right = plan.seal();
  expect_right(right);
  // One byte further is an element of the other holder's: row 2, column 0.
  expect_violation(edit(right,
                        [](PlanTables& t) {
                          t.op_bytes[0] = 65;
                          t.op_begin[1] = 65;
                          t.op_bytes[1] = 63;
                        }),
                   kInvariant, {"operation 0", "box [2,3) x [0,1)", "rank 0 does not hold"});
}

TEST(CheckBytes, ReaderWithoutAnEdgeFromItsWriter) {
  expect_violation(
      edit(staged_plan(), [](PlanTables& t) { erase_edge(t.op_after_first, t.op_after, 1, 0); }),
      kInvariant, {"operation 1", "slot 0 of rank 0", "no edge from its writer operation 0"});
}

TEST(CheckBytes, ReadBeforeWritten) {
  // The first transfer reads send slot 1, which nobody has written yet.
  const CheckReport report =
      check_plan(edit(staged_plan(), [](PlanTables& t) { t.op_source_slot[1] = 1; }));
  ASSERT_FALSE(report.ok);
  EXPECT_THAT(all_text(report),
              ::testing::HasSubstr("operation 1 (inject, rank 0 -> rank 1, bundle 0 bytes 0..64) "
                                   "reads chunk slot 1 of rank 0 before it is written"));
}

TEST(CheckBytes, ReaderOfOtherBytesThanWereWritten) {
  // The unpack of chunk 0 says it is chunk 1 and the other way round: they still tile the bundle.
  expect_violation(edit(staged_plan(),
                        [](PlanTables& t) {
                          t.op_begin[2] = 64;
                          t.op_begin[5] = 0;
                        }),
                   kInvariant, {"operation 2", "slot 2 of rank 1", "which holds what operation 1"});
}

TEST(CheckBytes, StreamHopNeedsItsUpstreamOrAnEdge) {
  expect_violation(edit(broadcast_plan(),
                        [](PlanTables& t) { erase_edge(t.op_stream_first, t.op_stream, 2, 1); }),
                   kInvariant, {"operation 2", "bucket slot 0 of rank 1", "operation 1"});
}

TEST(CheckBytes, BucketReaderNeedsAllItsWriters) {
  // The pack leaves out the last 4 bytes of the bucket; the hop reads them.
  expect_violation(edit(broadcast_plan(), [](PlanTables& t) { t.op_bytes[0] = 252; }), kInvariant,
                   {"operation 1", "bucket slot 0 of rank 0 at byte 252", "before it is written"});
}

TEST(CheckBytes, GapInABundle) {
  expect_violation(edit(direct_plan(), [](PlanTables& t) { t.op_bytes[0] = 120; }), kInvariant,
                   {"rank 1", "bytes 120..128 of bundle 0", "no operation", "operation 0"});
}

TEST(CheckBytes, OverlapInABundle) {
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {32};
  const std::vector<std::int64_t> all = {0, 32};
  const std::uint32_t tensor = plan.builder.add_tensor("w", shape, DType::kF32);
  plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, all);
  plan.builder.add_dense_shard(1, Side::kDestination, tensor, 1, all);
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, plan.builder.add_box(all)}};
  const std::int32_t bundle = plan.builder.add_bundle(slices);
  plan.transfer(OpRole::kInject, 0, 1, bundle, 0, 68, kNone, kNone);
  plan.transfer(OpRole::kInject, 0, 1, bundle, 64, 64, kNone, kNone);
  expect_violation(plan.seal(), kInvariant,
                   {"rank 1", "operation 1", "bytes 64..68 of bundle 0 again", "operation 0"});
}

TEST(CheckBytes, DestinationShardThatGetsNothing) {
  // Rank 3 of the fan-out plan loses its only operation's destination to a slot.
  expect_violation(edit(fan_out_plan(),
                        [](PlanTables& t) {
                          t.op_destination_slot[3] = 0;
                          t.staging_slots[3 * kSlotClasses] = 1;
                          t.staging_slot_bytes[3 * kSlotClasses] = 256;
                        }),
                   kInvariant, {"rank 3", "64 of 64 elements", "tensor w", "no operation"});
}

TEST(CheckBytes, PartOfAShardThatGetsNothing) {
  // The destination wants rows [0, 5) of a 5-row tensor of which 4 are sent.
  expect_violation(edit(direct_plan(),
                        [](PlanTables& t) {
                          t.extents[0] = 5;
                          t.shard_box[1] = new_box(t, {0, 5, 0, 8});
                          t.loop_length[2] = 5;
                          t.buffer_bytes[1] = 160;
                        }),
                   kInvariant, {"rank 1", "8 of 40 elements", "tensor w box [0,5) x [0,8)"});
}

TEST(CheckBytes, SliceOutsideEveryShard) {
  // The destination wants only rows [1, 4).
  expect_violation(edit(direct_plan(),
                        [](PlanTables& t) {
                          t.shard_box[1] = new_box(t, {1, 4, 0, 8});
                          t.loop_length[2] = 3;
                        }),
                   kInvariant, {"operation 0", "tensor w box [0,4) x [0,8)", "outside", "rank 1"});
}

TEST(CheckBytes, ClippedSlicesMustStillFillTheShards) {
  // Rank 1 unpacks tensors 0 and 2 out of the buckets; now it wants tensor 1 instead of 0 too.
  const Plan two = edit(broadcast_plan(), [](PlanTables& t) { t.slice_tensor_first[1] = 1; });
  // Round 1 carries tensors 1 and 2: rank 1 still gets 2, rank 2 gets 1 twice and 3 never.
  expect_violation(two, kInvariant, {"rank 2", "tensor w1", "written twice", "operation 4"});
}

TEST(CheckBytes, ElementsWrittenTwiceByTwoBundles) {
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {8, 4};
  const std::uint32_t tensor = plan.builder.add_tensor("w", shape, DType::kF32);
  const std::vector<std::int64_t> all = {0, 8, 0, 4};
  plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, all);
  plan.builder.add_dense_shard(1, Side::kDestination, tensor, 1, all);
  for (const auto& [lo, hi] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {4, 8}}) {
    const std::vector<std::int64_t> part = {lo, hi, 0, 4};
    const std::vector<SliceSpec> slices = {{tensor, 1, 1, plan.builder.add_box(part)}};
    const std::int32_t bundle = plan.builder.add_bundle(slices);
    plan.transfer(OpRole::kInject, 0, 1, bundle, 0, plan.builder.bundle_bytes(bundle), kNone,
                  kNone);
  }
  expect_violation(plan.seal(), kInvariant,
                   {"rank 1", "tensor w box [4,5) x [0,4)", "operation 0", "operation 1"});
}

// --- Memory of the destination ---

// q and k as views of one buffer of 2 x 16 rows of 4 bytes.
Plan fused_plan(std::uint64_t k_offset_bits, std::int64_t stride_bits) {
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {16};
  const std::vector<std::int64_t> all = {0, 16};
  std::vector<SliceSpec> slices;
  const std::uint32_t buffer = plan.builder.add_buffers(1, Side::kDestination, 256, 1, "qk");
  for (const std::uint32_t t : {0, 1}) {
    plan.builder.add_tensor(t == 0 ? "q" : "k", shape, DType::kF32);
    plan.builder.add_dense_shard(0, Side::kSource, t, 1, all);
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_first = t;
    shard.box = plan.builder.add_box(all);
    shard.buffer = buffer;
    shard.bit_offset = t == 0 ? 0 : k_offset_bits;
    shard.loops = {{0, 16, stride_bits}};
    plan.builder.add_shard(1, shard);
    slices.push_back({t, 1, 1, shard.box});
  }
  const std::int32_t bundle = plan.builder.add_bundle(slices);
  plan.transfer(OpRole::kInject, 0, 1, bundle, 0, 128, kNone, kNone);
  return plan.seal();
}

TEST(CheckBytes, FusedViewsSideBySideOrInterleavedAreRight) {
  expect_right(fused_plan(64 * 8, 32));  // q then k
  expect_right(fused_plan(32, 64));      // element by element
}

// Transposed storage [hidden, heads] of q, k and v interleaved group by group, with a padded group:
// 2^25 runs a part, far more than are compared one by one.
TEST(CheckBytes, InterleavedQkvIsToldApart) {
  HandPlan plan(2, 1);
  const std::int64_t hidden = std::int64_t{1} << 22;
  const std::int64_t groups = 8;
  const std::int64_t head = 128;
  const std::int64_t group_heads = 8 + 1 + 1;
  const std::int64_t row_bits = (groups * group_heads * head + 64) * 16;
  const std::uint32_t buffer = plan.builder.add_buffers(
      1, Side::kDestination, static_cast<std::uint64_t>(hidden * row_bits / 8), 1, "qkv");
  std::vector<SliceSpec> slices;
  std::int64_t first = 0;
  for (const auto& [name, heads] :
       {std::pair<const char*, std::int64_t>{"q", 8}, {"k", 1}, {"v", 1}}) {
    const std::vector<std::int64_t> shape = {groups * heads * head, hidden};
    const std::vector<std::int64_t> all = {0, shape[0], 0, hidden};
    const std::uint32_t tensor = plan.builder.add_tensor(name, shape, DType::kBF16);
    plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, all);
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_first = tensor;
    shard.box = plan.builder.add_box(all);
    shard.buffer = buffer;
    shard.bit_offset = static_cast<std::uint64_t>(first * head * 16);
    shard.loops = {
        {1, hidden, row_bits}, {0, groups, group_heads * head * 16}, {0, heads * head, 16}};
    plan.builder.add_shard(1, shard);
    slices.push_back({tensor, 1, 1, shard.box});
    first += heads;
  }
  const std::int32_t bundle = plan.builder.add_bundle(slices);
  plan.transfer(OpRole::kInject, 0, 1, bundle, 0, plan.builder.bundle_bytes(bundle), kNone, kNone);
  // The padding of the last row.
  plan.builder.add_fill(1, buffer, 1, static_cast<std::uint64_t>(hidden * row_bits / 8) - 128, 128);
  expect_right(plan.seal());
}

TEST(CheckBytes, ZerosLieBesideElements) {
  // q is bytes 0..64, k bytes 64..128 of 256.
  const auto with_fill = [](const Plan& plan, std::uint64_t offset, std::uint64_t bytes) {
    return edit(plan, [=](PlanTables& t) {
      t.rank_fill_first = {0, 0, 1};
      t.fill_buffer = {0};
      t.fill_buffer_count = {1};
      t.fill_offset = {offset};
      t.fill_bytes = {bytes};
    });
  };
  expect_right(with_fill(fused_plan(64 * 8, 32), 128, 128));
  expect_violation(
      with_fill(fused_plan(64 * 8, 32), 127, 2), kInvariant,
      {"rank 1", "buffer 0", "the zero fill of bytes 127..129", "tensor k", "same bytes"});
  expect_violation(with_fill(fused_plan(64 * 8, 32), 0, 256), kInvariant, {"tensor q"});
  // Every other element: k ends at byte 128, and the last gap is behind q's last element.
  expect_right(with_fill(fused_plan(96, 64), 4, 4));
  expect_violation(with_fill(fused_plan(96, 64), 4, 5), kInvariant, {"the zero fill", "tensor q"});
}

TEST(CheckBytes, AnotherNameIsReadFromItsTensor) {
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {4, 8};
  const std::vector<std::int64_t> all = {0, 4, 0, 8};
  plan.builder.add_tensor("a", shape, DType::kF32);
  plan.builder.add_tensor("embed", shape, DType::kF32);
  for (const std::uint32_t source : {1, 0})
    plan.builder.add_tensor("tied", shape, DType::kF32, source);
  // Rank 0 holds embed but not a.
  plan.builder.add_dense_shard(0, Side::kSource, 1, 1, all);
  plan.builder.add_dense_shard(1, Side::kDestination, 1, 2, all);
  const std::vector<SliceSpec> slices = {{1, 2, 1, plan.builder.add_box(all)}};
  plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 256, kNone, kNone);
  const Plan right = plan.seal();
  expect_right(right);
  expect_violation(edit(right,
                        [](PlanTables& t) {
                          t.slice_tensor_first[0] = 2;
                          for (std::size_t row = t.rank_shard_first[1]; row < t.shard_side.size();
                               ++row)
                            t.shard_tensor_first[row] = 2;
                        }),
                   kInvariant, {"reads tensor a", "rank 0 does not hold"});
  expect_violation(edit(right, [](PlanTables& t) { t.tensor_source[2] = 2; }), kInvariant,
                   {"reads tensor tied", "rank 0 does not hold"});
}

TEST(CheckBytes, ViewsThatShareBytes) {
  expect_violation(fused_plan(60 * 8, 32), kInvariant,
                   {"rank 1", "buffer 0", "tensor q", "tensor k", "same bytes"});
  expect_violation(fused_plan(64 * 3, 64), kInvariant, {"tensor q", "tensor k", "same bytes"});
}

TEST(CheckBytes, ViewThatOverlapsItself) {
  expect_violation(fused_plan(64 * 8, 16), kInvariant, {"rank 1", "two elements on one byte"});
}

TEST(CheckBytes, TensorsOfOneRowThatShareBytes) {
  // Two tensors of 16 bytes in one buffer, 8 bytes apart instead of 16.
  const auto plan_with = [](std::uint64_t apart_bits) {
    HandPlan plan(2, 1);
    const std::vector<std::int64_t> shape = {4};
    const std::vector<std::int64_t> all = {0, 4};
    for (const char* name : {"a", "b"}) plan.builder.add_tensor(name, shape, DType::kF32);
    plan.builder.add_dense_shard(0, Side::kSource, 0, 2, all);
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_count = 2;
    shard.box = plan.builder.add_box(all);
    shard.buffer = plan.builder.add_buffers(1, Side::kDestination, 32, 1, "ab");
    shard.inner_count = 2;
    shard.inner_bits = apart_bits;
    shard.loops = {{0, 4, 32}};
    plan.builder.add_shard(1, shard);
    const std::vector<SliceSpec> slices = {{0, 2, 1, shard.box}};
    plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 32, kNone, kNone);
    return plan.seal();
  };
  expect_right(plan_with(128));
  expect_violation(plan_with(64), kInvariant, {"rank 1", "tensor a (and 1 more)", "one byte"});
}

// Three tensors of 16 bytes, two to a buffer; a fourth lies in the second buffer too.
TEST(CheckBytes, TheLastBufferOfARowMayBeHalfFull) {
  const auto plan_with = [](std::uint64_t offset_bits) {
    HandPlan plan(2, 1);
    const std::vector<std::int64_t> shape = {4};
    const std::vector<std::int64_t> all = {0, 4};
    for (const char* name : {"a", "b", "c", "d"}) plan.builder.add_tensor(name, shape, DType::kF32);
    plan.builder.add_dense_shard(0, Side::kSource, 0, 4, all);
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_count = 3;
    shard.box = plan.builder.add_box(all);
    shard.buffer = plan.builder.add_buffers(1, Side::kDestination, 32, 2, "abcd");
    shard.inner_count = 2;
    shard.inner_bits = 128;
    shard.loops = {{0, 4, 32}};
    plan.builder.add_shard(1, shard);
    shard.tensor_first = 3;
    shard.tensor_count = shard.inner_count = 1;
    shard.buffer += 1;
    shard.bit_offset = offset_bits;
    plan.builder.add_shard(1, shard);
    const std::vector<SliceSpec> slices = {{0, 4, 1, shard.box}};
    plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 64, kNone, kNone);
    return plan.seal();
  };
  expect_right(plan_with(128));  // behind c
  expect_violation(plan_with(96), kInvariant, {"buffer 1", "tensor a (and 2 more)", "tensor d"});
}

}  // namespace
}  // namespace transload::testing
