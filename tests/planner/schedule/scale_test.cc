#include "planner/schedule/scale.h"

#include <array>
#include <random>

#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/runs.h"
#include "planner/schedule/scale_groups.h"
#include "tests/planner/schedule/check/expect_violation.h"
#include "tests/testing/naive_run.h"
#include "tests/testing/random_plan.h"

namespace transload::testing {
namespace {

std::vector<std::int64_t> shape_of(const Plan& plan, std::uint32_t tensor) {
  const auto shape = tensor_shape(plan, tensor);
  return {shape.begin(), shape.end()};
}

template <class T>
std::vector<T> values(std::span<const T> column) {
  return {column.begin(), column.end()};
}

// What scaling must not touch.
void expect_same_graph(const Plan& a, const Plan& b) {
  EXPECT_EQ(values(a.op_key), values(b.op_key));
  EXPECT_EQ(values(a.op_after_first), values(b.op_after_first));
  EXPECT_EQ(values(a.op_after), values(b.op_after));
  EXPECT_EQ(values(a.op_stream), values(b.op_stream));
  EXPECT_EQ(values(a.op_out_port), values(b.op_out_port));
  EXPECT_EQ(values(a.op_source_slot), values(b.op_source_slot));
  EXPECT_EQ(values(a.op_destination_slot), values(b.op_destination_slot));
  EXPECT_EQ(values(a.rank_op), values(b.rank_op));
  EXPECT_EQ(values(a.slice_tensor_first), values(b.slice_tensor_first));
  EXPECT_EQ(values(a.staging_slots), values(b.staging_slots));
  EXPECT_EQ(a.header().demand_classes, b.header().demand_classes);
}

void expect_scales(const Plan& plan, std::uint64_t target) {
  const Plan scaled = scale_plan(plan, target);
  expect_right(scaled);
  expect_same_graph(plan, scaled);
  std::mt19937_64 random(target);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run_naively(scaled, random), "");
}

TEST(Scale, UnshardedDimensionsFirst) {
  // [8, 16], columns [0, 8) wanted: rows are unsharded (gcd 8), columns have gcd(16, 8) = 8.
  const Plan scaled = scale_plan(staged_plan(), 4);
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{2, 16}));
  // 8 x 8 x 4 bytes in 4 chunks of 64 become 2 x 8 x 4 in chunks of 16.
  EXPECT_EQ(scaled.bundle_bytes[0], 64u);
  for (std::size_t chunk = 0; chunk < 4; ++chunk) {
    EXPECT_EQ(scaled.op_begin[3 * chunk + 1], 16 * chunk);
    EXPECT_EQ(scaled.op_bytes[3 * chunk + 1], 16u);
  }
  EXPECT_EQ(scaled.staging_slot_bytes[static_cast<std::size_t>(SlotClass::kSend)], 16u);
  EXPECT_EQ(scaled.header().scale, 4u);
  EXPECT_EQ(scaled.header().chunk_bytes, 16u);
  EXPECT_EQ(scaled.header().piece_bytes, 4u);
  EXPECT_EQ(scaled.buffer_bytes[0], 2u * 16 * 4);
  EXPECT_EQ(scaled.buffer_bytes[1], 2u * 8 * 4);
}

TEST(Scale, ShardedDimensionsForTheRest) {
  // 32 = 8 (all rows) x 4 of the columns.
  const Plan scaled = scale_plan(staged_plan(), 32);
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(scaled.header().scale, 32u);
  // Columns [0, 8) become [0, 2) of 4.
  const auto box = box_bounds(scaled, scaled.slice_box[0], 2);
  EXPECT_EQ(values(box), (std::vector<std::int64_t>{0, 1, 0, 2}));
  // 8 bytes over 4 chunks of 2 bytes, down to whole elements: ends at 0, 4, 4, 8.
  EXPECT_EQ(scaled.op_bytes[1], 0u);
  EXPECT_EQ(scaled.op_bytes[4], 4u);
  EXPECT_EQ(scaled.op_bytes[7], 0u);
  EXPECT_EQ(scaled.op_bytes[10], 4u);
  expect_right(scaled);
}

TEST(Scale, NeverBelowTheTarget) {
  // Divisors of 8 and 8 only: 7 reaches 4, 100 reaches 64.
  EXPECT_EQ(scale_plan(staged_plan(), 7).header().scale, 4u);
  EXPECT_EQ(scale_plan(staged_plan(), 1'000'000).header().scale, 64u);
}

TEST(Scale, OneChangesNothing) {
  EXPECT_EQ(scale_plan(staged_plan(), 1).digest(), staged_plan().digest());
}

TEST(Scale, ZeroIsRefused) { EXPECT_THROW(scale_plan(direct_plan(), 0), InputError); }

TEST(Scale, TwiceMultiplies) {
  const Plan twice = scale_plan(scale_plan(staged_plan(), 2), 4);
  EXPECT_EQ(twice.header().scale, 8u);
  expect_right(twice);
}

TEST(Scale, WhatNothingDividesStays) {
  // Cut at 3 of 7: gcd 1 in the only dimension.
  HandPlan plan(3, 1);
  const std::vector<std::int64_t> shape = {7};
  const std::uint32_t tensor = plan.builder.add_tensor("w", shape, DType::kF32);
  const std::vector<std::int64_t> all = {0, 7};
  plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, all);
  for (const std::int32_t rank : {1, 2}) {
    const std::vector<std::int64_t> part = {rank == 1 ? 0 : 3, rank == 1 ? 3 : 7};
    plan.builder.add_dense_shard(rank, Side::kDestination, tensor, 1, part);
    const std::vector<SliceSpec> slices = {{tensor, 1, 1, plan.builder.add_box(part)}};
    const std::int32_t bundle = plan.builder.add_bundle(slices);
    plan.transfer(OpRole::kInject, 0, rank, bundle, 0, plan.builder.bundle_bytes(bundle), kNone,
                  kNone);
  }
  const Plan scaled = scale_plan(plan.seal(), 10);
  EXPECT_EQ(shape_of(scaled, 0), shape);
  EXPECT_EQ(scaled.header().scale, 1u);
  expect_right(scaled);
}

// q [8, 6], k [4, 6] and v [4, 6] fused row by row: offsets 0, 192 and 288 bytes of 384.
Plan fused_rows_plan() {
  HandPlan plan(2, 1);
  PlanBuilder& builder = plan.builder;
  const std::uint32_t buffer = builder.add_buffers(1, Side::kDestination, 384, 1, "qkv");
  std::vector<SliceSpec> slices;
  std::uint64_t offset = 0;
  for (const auto& [name, rows] :
       {std::pair<const char*, std::int64_t>{"q", 8}, {"k", 4}, {"v", 4}}) {
    const std::vector<std::int64_t> shape = {rows, 6};
    const std::vector<std::int64_t> all = {0, rows, 0, 6};
    const std::uint32_t tensor = builder.add_tensor(name, shape, DType::kF32);
    builder.add_dense_shard(0, Side::kSource, tensor, 1, all);
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_first = tensor;
    shard.box = builder.add_box(all);
    shard.buffer = buffer;
    shard.bit_offset = offset;
    shard.loops = {{0, rows, 6 * 32}, {1, 6, 32}};
    builder.add_shard(1, shard);
    offset += static_cast<std::uint64_t>(rows) * 6 * 32;
    slices.push_back({tensor, 1, 1, shard.box});
  }
  const std::int32_t bundle = builder.add_bundle(slices);
  plan.transfer(OpRole::kInject, 0, 1, bundle, 0, 384, kNone, kNone);
  return plan.seal();
}

TEST(Scale, FusedBuffersKeepTheirShape) {
  const Plan scaled = scale_plan(fused_rows_plan(), 6);
  // Columns (gcd 6, unsharded like the rows) are the first step: all of 6.
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{8, 1}));
  EXPECT_EQ(shape_of(scaled, 1), (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ(scaled.buffer_bytes[scaled.buffer_bytes.size() - 1], 64u);
  // q, k, v still lie one after the other: 8 + 4 + 4 rows of 4 bytes.
  EXPECT_EQ(scaled.shard_bit_offset[4], 8u * 32);
  EXPECT_EQ(scaled.shard_bit_offset[5], 12u * 32);
  expect_scales(fused_rows_plan(), 6);
  // Rows: gcd(8, 4, 4) = 4.
  expect_scales(fused_rows_plan(), 24);
  EXPECT_EQ(scale_plan(fused_rows_plan(), 24).header().scale, 24u);
}

// Two views of one buffer, period 8 bytes: a at 6 (reaching into the next period), b at 24. Halving
// both would put a at [6, 10) and b at [8, 10).
TEST(Scale, ViewsAcrossPeriodsAreLeftAlone) {
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {2};
  const std::vector<std::int64_t> all = {0, 2};
  const std::uint32_t buffer = plan.builder.add_buffers(1, Side::kDestination, 34, 1, "ab");
  std::vector<SliceSpec> slices;
  for (const auto& [dtype, offset_bits] : {std::pair{DType::kF32, 48u}, {DType::kBF16, 192u}}) {
    const std::uint32_t t = plan.builder.add_tensor("t", shape, dtype);
    plan.builder.add_dense_shard(0, Side::kSource, t, 1, all);
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_first = t;
    shard.box = plan.builder.add_box(all);
    shard.buffer = buffer;
    shard.bit_offset = offset_bits;
    shard.loops = {{0, 2, 64}};
    plan.builder.add_shard(1, shard);
    slices.push_back({t, 1, 1, shard.box});
  }
  plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 12, kNone, kNone);
  const Plan right = plan.seal();
  expect_right(right);
  expect_scales(right, 2);
  EXPECT_EQ(scale_plan(right, 2).header().scale, 1u);
}

// One buffer holds a [4, 4] by rows and b [4, 4] by columns: no step divides both alike.
TEST(Scale, ViewsThatDisagreeAboutStridesAreLeftAlone) {
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {4, 4};
  const std::vector<std::int64_t> all = {0, 4, 0, 4};
  const std::uint32_t buffer = plan.builder.add_buffers(1, Side::kDestination, 128, 1, "ab");
  std::vector<SliceSpec> slices;
  for (const bool by_columns : {false, true}) {
    const std::uint32_t t = plan.builder.add_tensor(by_columns ? "b" : "a", shape, DType::kF32);
    plan.builder.add_dense_shard(0, Side::kSource, t, 1, all);
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_first = t;
    shard.box = plan.builder.add_box(all);
    shard.buffer = buffer;
    shard.bit_offset = by_columns ? 512 : 0;
    shard.loops = {{0, 4, by_columns ? 32 : 128}, {1, 4, by_columns ? 128 : 32}};
    plan.builder.add_shard(1, shard);
    slices.push_back({t, 1, 1, shard.box});
  }
  plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 128, kNone, kNone);
  const Plan right = plan.seal();
  expect_scales(right, 4);
  EXPECT_EQ(scale_plan(right, 4).header().scale, 1u);
}

TEST(Scale, SingleRunsStaySingle) {
  // One run across the three parts of the fused buffer, before and after.
  for (const std::uint64_t target : {1, 2, 6, 12}) {
    const Plan scaled = scale_plan(fused_rows_plan(), target);
    EXPECT_EQ(
        count_runs(scaled, 0, 0, scaled.bundle_bytes[0], 1, Side::kDestination, Missing::kFail, 10),
        1u)
        << target;
  }
  // Row by row out of the left half of [8, 16]: each chunk of half a row is one run.
  HandPlan plan(2, 1);
  const std::vector<std::int64_t> shape = {8, 16};
  const std::vector<std::int64_t> all = {0, 8, 0, 16};
  const std::vector<std::int64_t> left = {0, 8, 0, 8};
  const std::uint32_t tensor = plan.builder.add_tensor("w", shape, DType::kF32);
  plan.builder.add_dense_shard(0, Side::kSource, tensor, 1, all);
  plan.builder.add_dense_shard(1, Side::kDestination, tensor, 1, left);
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, plan.builder.add_box(left)}};
  const std::int32_t bundle = plan.builder.add_bundle(slices);
  for (std::uint64_t begin = 0; begin < 256; begin += 16)
    plan.transfer(OpRole::kInject, 0, 1, bundle, begin, 16, kNone, kNone);
  const Plan right = plan.seal();
  for (const std::uint64_t target : {2, 4, 8, 16}) {
    const Plan scaled = scale_plan(right, target);
    expect_right(scaled);
    for (OpId op = 0; op < scaled.operations(); ++op) {
      if (scaled.op_bytes[op] == 0) continue;
      EXPECT_EQ(count_runs(scaled, bundle, scaled.op_begin[op], scaled.op_bytes[op], 0,
                           Side::kSource, Missing::kFail, 10),
                1u)
          << target << " operation " << op;
    }
  }
}

TEST(Scale, HandMadePlans) {
  for (const std::uint64_t target : {2, 3, 4, 8, 16, 1000}) {
    expect_scales(direct_plan(), target);
    expect_scales(staged_plan(), target);
    expect_scales(grouped_plan(), target);
    expect_scales(fan_out_plan(), target);
    expect_scales(broadcast_plan(), target);
    expect_scales(shared_plan(), target);
  }
}

TEST(Scale, RandomPlans) {
  std::mt19937_64 random(99);
  int scaled = 0;
  int with_fills = 0;
  int with_names = 0;
  for (int i = 0; i < 800; ++i) {
    const Plan plan = random_plan(random);
    const std::uint64_t target = 2 + random() % 15;
    expect_scales(plan, target);
    const Plan smaller = scale_plan(plan, target);
    if (smaller.header().scale == 1) continue;
    ++scaled;
    if (values(smaller.fill_bytes) != values(plan.fill_bytes)) ++with_fills;
    for (std::uint32_t t = 0; t < plan.tensors(); ++t)
      if (plan.tensor_source[t] != t && shape_of(smaller, t) != shape_of(plan, t)) {
        ++with_names;
        break;
      }
  }
  EXPECT_GT(scaled, 150);
  EXPECT_GT(with_fills, 10);
  EXPECT_GT(with_names, 10);
}

// [12, 6] fp32 into a buffer of rows of `pitch` elements, with whole rows of padding behind; all
// padding is zero.
Plan padded_plan(std::int64_t pitch, std::int64_t padded_rows) {
  HandPlan plan(2, 1);
  PlanBuilder& builder = plan.builder;
  const std::vector<std::int64_t> shape = {12, 6};
  const std::vector<std::int64_t> all = {0, 12, 0, 6};
  const std::uint32_t tensor = builder.add_tensor("vocabulary", shape, DType::kF32);
  builder.add_dense_shard(0, Side::kSource, tensor, 1, all);
  ShardSpec shard;
  shard.side = Side::kDestination;
  shard.tensor_first = tensor;
  shard.box = builder.add_box(all);
  const auto row = static_cast<std::uint64_t>(4 * pitch);
  const auto end = row * static_cast<std::uint64_t>(12 + padded_rows);
  shard.buffer = builder.add_buffers(1, Side::kDestination, end, 1, "padded");
  shard.loops = {{0, 12, pitch * 32}, {1, 6, 32}};
  builder.add_shard(1, shard);
  for (std::uint64_t r = 0; r < 12; ++r) builder.add_fill(1, 0, 1, r * row + 24, row - 24);
  builder.add_fill(1, 0, 1, 12 * row, end - 12 * row);
  const std::vector<SliceSpec> slices = {{tensor, 1, 1, shard.box}};
  plan.transfer(OpRole::kInject, 0, 1, builder.add_bundle(slices), 0, 288, kNone, kNone);
  return plan.seal();
}

TEST(Scale, PaddedRowsKeepTheirShare) {
  // Columns first: 6 -> 3 with a factor of 2, 12 + 4 rows of 12 bytes.
  Plan scaled = scale_plan(padded_plan(6, 4), 2);
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{12, 3}));
  EXPECT_EQ(scaled.buffer_bytes[1], 192u);
  EXPECT_EQ(values(scaled.fill_offset), std::vector<std::uint64_t>{144});
  EXPECT_EQ(values(scaled.fill_bytes), std::vector<std::uint64_t>{48});
  // All 6 columns, and of the 12 + 4 rows a factor of gcd(12, 4) = 4: 3 + 1 rows of 4 bytes.
  scaled = scale_plan(padded_plan(6, 4), 24);
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(scaled.buffer_bytes[1], 16u);
  EXPECT_EQ(values(scaled.fill_offset), std::vector<std::uint64_t>{12});
  EXPECT_EQ(values(scaled.fill_bytes), std::vector<std::uint64_t>{4});
  for (const std::uint64_t target : {2, 3, 4, 6, 12, 24, 100})
    expect_scales(padded_plan(6, 4), target);
}

TEST(Scale, PaddedColumnsKeepTheirShare) {
  // Rows of 8 with 2 of padding: columns by gcd(6, 2, 8) = 2, rows by 12.
  Plan scaled = scale_plan(padded_plan(8, 0), 2);
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{12, 3}));
  EXPECT_EQ(scaled.buffer_bytes[1], 12u * 16);
  ASSERT_EQ(scaled.fill_bytes.size(), 12u);
  for (std::size_t row = 0; row < 12; ++row) {
    EXPECT_EQ(scaled.fill_offset[row], 16 * row + 12);
    EXPECT_EQ(scaled.fill_bytes[row], 4u);
  }
  scaled = scale_plan(padded_plan(8, 0), 24);
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(values(scaled.fill_offset), std::vector<std::uint64_t>{12});
  for (const std::uint64_t target : {2, 4, 6, 12, 24, 100}) {
    expect_scales(padded_plan(8, 0), target);
    expect_scales(padded_plan(8, 4), target);
  }
}

// A row of padding cannot be halved: rows are left alone, columns are not.
TEST(Scale, PaddingThatCannotBeDividedKeepsItsDimension) {
  const Plan scaled = scale_plan(padded_plan(6, 1), 100);
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{12, 1}));
  expect_scales(padded_plan(6, 1), 100);
}

// Megatron's linear_qkv: per group of heads q [8 rows], k [4], v [4]; two groups, 6 columns.
TEST(Scale, InterleavedBlocksKeepTheirPlaces) {
  HandPlan plan(2, 1);
  PlanBuilder& builder = plan.builder;
  const std::uint32_t buffer = builder.add_buffers(0, Side::kSource, 768, 1, "linear_qkv");
  std::vector<SliceSpec> slices;
  std::int64_t first = 0;
  for (const auto& [name, rows] :
       {std::pair<const char*, std::int64_t>{"q", 8}, {"k", 4}, {"v", 4}}) {
    const std::vector<std::int64_t> shape = {2 * rows, 6};
    const std::vector<std::int64_t> all = {0, 2 * rows, 0, 6};
    const std::uint32_t tensor = builder.add_tensor(name, shape, DType::kF32);
    builder.add_dense_shard(1, Side::kDestination, tensor, 1, all);
    ShardSpec shard;
    shard.tensor_first = tensor;
    shard.box = builder.add_box(all);
    shard.buffer = buffer;
    shard.bit_offset = static_cast<std::uint64_t>(first * 6 * 32);
    shard.loops = {{0, 2, 16 * 6 * 32}, {0, rows, 6 * 32}, {1, 6, 32}};
    builder.add_shard(0, shard);
    slices.push_back({tensor, 1, 1, shard.box});
    first += rows;
  }
  plan.transfer(OpRole::kInject, 0, 1, builder.add_bundle(slices), 0, 768, kNone, kNone);
  const Plan right = plan.seal();
  // Columns by 6, rows by gcd(8, 4) = 4: q 2 rows, k 1, v 1 of 4 bytes in a group of 16 bytes.
  const Plan scaled = scale_plan(right, 24);
  EXPECT_EQ(shape_of(scaled, 0), (std::vector<std::int64_t>{4, 1}));
  EXPECT_EQ(scaled.shard_bit_offset[1], 2u * 32);
  EXPECT_EQ(scaled.shard_bit_offset[2], 3u * 32);
  EXPECT_EQ(scaled.loop_stride_bits[0], 16 * 8);
  EXPECT_EQ(scaled.buffer_bytes[0], 32u);
  for (const std::uint64_t target : {2, 3, 4, 6, 8, 12, 24, 100}) expect_scales(right, target);
}

TEST(ScaleFactors, LargestProductUnshardedFirst) {
  using Factors = std::vector<std::int64_t>;
  // 12 of the unsharded 8 x 3: 4 x 3, not 8 x 1.
  EXPECT_EQ(choose_factors({8, 3}, {true, true}, 12), (Factors{4, 3}));
  // 16 of 8 (unsharded) and 5: 8, and 5 is above the 2 that is left.
  EXPECT_EQ(choose_factors({5, 8}, {false, true}, 16), (Factors{1, 8}));
  EXPECT_EQ(choose_factors({4, 8}, {false, true}, 16), (Factors{2, 8}));
  EXPECT_EQ(choose_factors({}, {}, 16), Factors{});
}

}  // namespace
}  // namespace transload::testing
