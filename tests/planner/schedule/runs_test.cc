#include "planner/schedule/runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <tuple>

#include "common/error.h"
#include "planner/schedule/builder.h"

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bounds = std::vector<std::int64_t>;

// (packed, buffer, offset, bytes)
using Row = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t, std::uint64_t>;

std::vector<Row> runs_of(const Plan& plan, std::int32_t bundle, std::uint64_t begin,
                         std::uint64_t bytes, std::int32_t rank, Side side, Missing missing) {
  std::vector<Row> rows;
  for_each_run(plan, bundle, begin, bytes, rank, side, missing, [&](const Run& run) {
    rows.emplace_back(run.packed, run.buffer, run.offset, run.bytes);
  });
  return rows;
}

std::vector<Row> all_runs(const Plan& plan, std::int32_t rank, Side side,
                          Missing missing = Missing::kFail) {
  return runs_of(plan, 0, 0, plan.bundle_bytes[0], rank, side, missing);
}

PlanBuilder one_rank() {
  PlanBuilder builder;
  builder.add_gpu_model({});
  builder.add_rank(0, 0, 0, 0);
  return builder;
}

void add_whole_slice(PlanBuilder& builder, const Bounds& bounds, std::uint32_t tensor = 0,
                     std::uint32_t count = 1, std::uint32_t step = 1) {
  const std::array<SliceSpec, 1> slices{{{tensor, count, step, builder.add_box(bounds)}}};
  builder.add_bundle(slices);
}

TEST(Runs, ContiguousShardIsOneRun) {
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 3> shape{4, 6, 8};
  const std::uint32_t tensor = builder.add_tensor("w", shape, DType::kF32);
  builder.add_dense_shard(0, Side::kSource, tensor, 1, Bounds{0, 4, 0, 6, 0, 8});
  add_whole_slice(builder, {1, 3, 0, 6, 0, 8});
  const Plan plan = builder.seal({});
  // Rows 1 and 2 of the first dimension: 2 * 6 * 8 * 4 bytes from byte 1 * 6 * 8 * 4.
  EXPECT_THAT(all_runs(plan, 0, Side::kSource), ElementsAre(Row{0, 0, 192, 384}));
  EXPECT_EQ(count_runs(plan, 0, 0, 384, 0, Side::kSource, Missing::kFail, 100), 1u);
}

TEST(Runs, ColumnSliceIsOneRunPerRow) {
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 2> shape{3, 8};
  const std::uint32_t tensor = builder.add_tensor("w", shape, DType::kBF16);
  builder.add_dense_shard(0, Side::kSource, tensor, 1, Bounds{0, 3, 0, 8});
  add_whole_slice(builder, {0, 3, 2, 5});
  const Plan plan = builder.seal({});
  EXPECT_THAT(all_runs(plan, 0, Side::kSource),
              ElementsAre(Row{0, 0, 4, 6}, Row{6, 0, 20, 6}, Row{12, 0, 36, 6}));
  // A range that begins and ends inside elements.
  EXPECT_THAT(runs_of(plan, 0, 5, 8, 0, Side::kSource, Missing::kFail),
              ElementsAre(Row{5, 0, 9, 1}, Row{6, 0, 20, 6}, Row{12, 0, 36, 1}));
  EXPECT_EQ(count_runs(plan, 0, 0, 18, 0, Side::kSource, Missing::kFail, 100), 3u);
  EXPECT_EQ(count_runs(plan, 0, 0, 18, 0, Side::kSource, Missing::kFail, 2), 2u);
  EXPECT_EQ(count_runs(plan, 0, 0, 18, 0, Side::kSource, Missing::kFail, 0), 0u);
  EXPECT_TRUE(runs_of(plan, 0, 7, 0, 0, Side::kSource, Missing::kFail).empty());
}

TEST(Runs, NeighboursInOneBufferMergeAcrossTensors) {
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 1> shape{4};
  for (const char* name : {"a", "b", "c"}) builder.add_tensor(name, shape, DType::kF32);
  ShardSpec shard;
  shard.tensor_count = 3;
  shard.box = builder.add_box(Bounds{0, 4});
  shard.buffer = builder.add_buffers(0, Side::kSource, 64, 1);
  shard.inner_count = 3;
  shard.bit_offset = 8 * 16;
  shard.inner_bits = 16 * 8;
  shard.loops = {{0, 4, 32}};
  builder.add_shard(0, shard);
  add_whole_slice(builder, {0, 4}, 0, 3, 1);
  add_whole_slice(builder, {0, 4}, 0, 2, 2);
  const Plan plan = builder.seal({});
  EXPECT_THAT(all_runs(plan, 0, Side::kSource), ElementsAre(Row{0, 0, 16, 48}));
  // Every second tensor: a and c.
  EXPECT_THAT(runs_of(plan, 1, 0, 32, 0, Side::kSource, Missing::kFail),
              ElementsAre(Row{0, 0, 16, 16}, Row{16, 0, 48, 16}));
}

TEST(Runs, ScalarTensorIsOneElement) {
  PlanBuilder builder = one_rank();
  const std::uint32_t tensor = builder.add_tensor("scale", {}, DType::kF32);
  builder.add_dense_shard(0, Side::kSource, tensor, 1, {});
  add_whole_slice(builder, {});
  const Plan plan = builder.seal({});
  EXPECT_THAT(all_runs(plan, 0, Side::kSource), ElementsAre(Row{0, 0, 0, 4}));
  std::vector<ElementRun> found;
  for_each_element_run(plan, 0, 0, [&](const ElementRun& run) { found.push_back(run); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].element, 0u);
  EXPECT_EQ(found[0].count, 1u);
}

TEST(Runs, EmptyBoxesHoldNothing) {
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 2> shape{4, 4};
  const std::uint32_t tensor = builder.add_tensor("w", shape, DType::kU8);
  builder.add_dense_shard(0, Side::kSource, tensor, 1, Bounds{2, 2, 0, 4});
  builder.add_dense_shard(0, Side::kSource, tensor, 1, Bounds{0, 4, 0, 4});
  const std::array<SliceSpec, 2> slices{{{tensor, 1, 1, builder.add_box(Bounds{1, 1, 0, 4})},
                                         {tensor, 1, 1, builder.add_box(Bounds{0, 4, 0, 4})}}};
  builder.add_bundle(slices);
  const Plan plan = builder.seal({});
  EXPECT_THAT(all_runs(plan, 0, Side::kSource), ElementsAre(Row{0, 1, 0, 16}));
  std::uint64_t elements = 0;
  for (std::uint64_t row : {0u, 1u})
    for_each_element_run(plan, row, 0, [&](const ElementRun& run) { elements += run.count; });
  EXPECT_EQ(elements, 16u);
}

TEST(Runs, MissingElementsFailOrAreLeftOut) {
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 1> shape{10};
  const std::uint32_t tensor = builder.add_tensor("gate", shape, DType::kF16);
  builder.add_dense_shard(0, Side::kDestination, tensor, 1, Bounds{2, 4});
  builder.add_dense_shard(0, Side::kDestination, tensor, 1, Bounds{7, 9});
  add_whole_slice(builder, {0, 10});
  const Plan plan = builder.seal({});
  EXPECT_THAT(all_runs(plan, 0, Side::kDestination, Missing::kSkip),
              ElementsAre(Row{4, 0, 0, 4}, Row{14, 1, 0, 4}));
  // Bytes 4 to 8 are elements 2 and 3, which are held.
  EXPECT_THAT(runs_of(plan, 0, 4, 4, 0, Side::kDestination, Missing::kFail),
              ElementsAre(Row{4, 0, 0, 4}));
  try {
    runs_of(plan, 0, 4, 8, 0, Side::kDestination, Missing::kFail);
    FAIL() << "elements 4 and 5 are not held";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tensor gate, rank 0"));
    EXPECT_THAT(error.what(), HasSubstr("[4:6]"));
  }
  EXPECT_THROW(all_runs(plan, 0, Side::kSource), InputError);
  EXPECT_THROW(runs_of(plan, 0, 4, 17, 0, Side::kDestination, Missing::kSkip), InputError);
}

TEST(Runs, CopiesOfAnElementAreReadOnceAndWrittenEverywhere) {
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 1> shape{6};
  const std::uint32_t tensor = builder.add_tensor("w", shape, DType::kF32);
  for (Side side : {Side::kSource, Side::kDestination}) {
    builder.add_dense_shard(0, side, tensor, 1, Bounds{0, 4});
    builder.add_dense_shard(0, side, tensor, 1, Bounds{2, 6});
  }
  add_whole_slice(builder, {0, 6});
  const Plan plan = builder.seal({});
  EXPECT_THAT(all_runs(plan, 0, Side::kSource), ElementsAre(Row{0, 0, 0, 16}, Row{16, 1, 8, 8}));
  EXPECT_THAT(all_runs(plan, 0, Side::kDestination),
              ElementsAre(Row{0, 2, 0, 16}, Row{8, 3, 0, 16}));
}

// embed in buffer 0, and lm_head, another name of it, in a destination buffer of its own: reading
// either name reads buffer 0.
TEST(Runs, AnotherNameIsReadFromItsTensor) {
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 1> shape{8};
  builder.add_tensor("embed", shape, DType::kF32);
  builder.add_tensor("lm_head", shape, DType::kF32, 0);
  builder.add_dense_shard(0, Side::kSource, 0, 1, Bounds{0, 8});
  builder.add_dense_shard(0, Side::kDestination, 1, 1, Bounds{0, 8});
  add_whole_slice(builder, {2, 6}, 0, 2);
  const Plan plan = builder.seal({});
  EXPECT_THAT(all_runs(plan, 0, Side::kSource), ElementsAre(Row{0, 0, 8, 16}, Row{16, 0, 8, 16}));
  EXPECT_THAT(all_runs(plan, 0, Side::kDestination, Missing::kSkip),
              ElementsAre(Row{16, 1, 8, 16}));
}

TEST(Runs, FactorLoopsOfASwizzledStore) {
  // A [2, 256] tensor stored as [256/128, 2, 128]: runs are 128 elements.
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 2> shape{2, 256};
  const std::uint32_t tensor = builder.add_tensor("scale", shape, DType::kU8);
  ShardSpec shard;
  shard.tensor_first = tensor;
  shard.box = builder.add_box(Bounds{0, 2, 0, 256});
  shard.buffer = builder.add_buffers(0, Side::kSource, 512, 1);
  shard.loops = {{1, 2, 256 * 8}, {0, 2, 128 * 8}, {1, 128, 8}};
  builder.add_shard(0, shard);
  add_whole_slice(builder, {0, 2, 0, 256});
  const Plan plan = builder.seal({});
  EXPECT_THAT(all_runs(plan, 0, Side::kSource),
              ElementsAre(Row{0, 0, 0, 128}, Row{128, 0, 256, 128}, Row{256, 0, 128, 128},
                          Row{384, 0, 384, 128}));
}

TEST(Runs, OffsetsBeyondFourGigabytes) {
  PlanBuilder builder = one_rank();
  // 2^20 x 2^20 elements of 2 bytes: 2 TiB, never allocated.
  const std::int64_t n = std::int64_t{1} << 20;
  const std::array<std::int64_t, 2> shape{n, n};
  const std::uint32_t tensor = builder.add_tensor("huge", shape, DType::kBF16);
  builder.add_dense_shard(0, Side::kSource, tensor, 1, Bounds{0, n, 0, n});
  builder.add_dense_shard(0, Side::kDestination, tensor, 1, Bounds{0, n, n / 2, n});
  add_whole_slice(builder, {0, n, n / 2, n});
  const Plan plan = builder.seal({});
  const std::uint64_t row = 1u << 20;  // bytes of half a row
  const std::uint64_t begin = 900'000 * row + 10;
  EXPECT_THAT(runs_of(plan, 0, begin, row, 0, Side::kSource, Missing::kFail),
              ElementsAre(Row{begin, 0, 900'000 * 2 * row + row + 10, row - 10},
                          Row{900'001 * row, 0, 900'001 * 2 * row + row, 10}));
  EXPECT_THAT(runs_of(plan, 0, begin, row, 0, Side::kDestination, Missing::kFail),
              ElementsAre(Row{begin, 1, begin, row}));
  EXPECT_EQ(
      count_runs(plan, 0, 0, plan.bundle_bytes[0], 0, Side::kSource, Missing::kFail, UINT64_MAX),
      1u << 20);
}

TEST(Runs, DenseShardOfAWholeTensorIsOneElementRun) {
  PlanBuilder builder = one_rank();
  const std::array<std::int64_t, 2> shape{8, 8};
  builder.add_tensor("w", shape, DType::kF32);
  builder.add_dense_shard(0, Side::kSource, 0, 1, Bounds{2, 6, 0, 8});
  builder.add_dense_shard(0, Side::kSource, 0, 1, Bounds{0, 2, 4, 8});
  const Plan plan = builder.seal({});
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  for (std::uint64_t row : {0u, 1u})
    for_each_element_run(
        plan, row, 0, [&](const ElementRun& run) { found.emplace_back(run.element, run.count); });
  // Rows 2 to 5 are elements 16 to 47; the half rows 0 and 1 are two stretches.
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_THAT(found, ElementsAre(Pair{16, 32}, Pair{4, 4}, Pair{12, 4}));
  EXPECT_THROW(for_each_element_run(plan, 2, 0, [](const ElementRun&) {}), InputError);
}

TEST(Runs, ManySlicesAndRowsStayFast) {
  // 1000 experts in 1000 rows and 1000 slices: finding rows must not cost rows x slices per
  // operation.
  PlanBuilder builder = one_rank();
  constexpr std::int64_t kExperts = 1000;
  const std::array<std::int64_t, 2> shape{kExperts, 16};
  const std::uint32_t tensor = builder.add_tensor("experts", shape, DType::kBF16);
  std::vector<SliceSpec> slices;
  for (std::int64_t e = 0; e < kExperts; ++e) {
    builder.add_dense_shard(0, Side::kSource, tensor, 1, Bounds{e, e + 1, 0, 16});
    slices.push_back({tensor, 1, 1, builder.add_box(Bounds{e, e + 1, 0, 16})});
  }
  builder.add_bundle(slices);
  const std::array<SliceSpec, 1> whole{
      {{tensor, 1, 1, builder.add_box(Bounds{0, kExperts, 0, 16})}}};
  builder.add_bundle(whole);
  const Plan plan = builder.seal({});
  for (std::int32_t bundle : {0, 1}) {
    EXPECT_EQ(count_runs(plan, bundle, 0, 32'000, 0, Side::kSource, Missing::kFail, UINT64_MAX),
              1000u);
    // One expert's bytes, anywhere.
    EXPECT_THAT(runs_of(plan, bundle, 31'968, 32, 0, Side::kSource, Missing::kFail),
                ElementsAre(Row{31'968, 999, 0, 32}));
  }
}

}  // namespace
}  // namespace transload
