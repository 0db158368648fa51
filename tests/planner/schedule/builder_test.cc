#include "planner/schedule/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "planner/schedule/access.h"
#include "tests/planner/schedule/check/expect_violation.h"

namespace transload::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::int64_t> kShape = {4, 8};  // fp32: 128 bytes
const std::vector<std::int64_t> kAll = {0, 4, 0, 8};

std::uint32_t add(HandPlan& plan, const char* name, std::optional<std::uint32_t> source = {}) {
  return plan.builder.add_tensor(name, kShape, DType::kF32, source);
}

ShardSpec dense(HandPlan& plan, Side side, std::uint32_t tensor, std::uint32_t buffer) {
  ShardSpec shard;
  shard.side = side;
  shard.tensor_first = tensor;
  shard.box = plan.builder.add_box(kAll);
  shard.buffer = buffer;
  shard.loops = {{0, 4, 8 * 32}, {1, 8, 32}};
  return shard;
}

TEST(PlanBuilder, ANameOfANameIsANameOfTheTensor) {
  HandPlan plan(1, 1);
  add(plan, "embed");
  add(plan, "other");
  add(plan, "lm_head", add(plan, "embed.tied", 0));
  EXPECT_THAT(plan.seal().tensor_source, ElementsAre(0, 1, 0, 0));
}

TEST(PlanBuilder, SourceShardsOfAnotherNameAreShardsOfTheTensor) {
  HandPlan plan(2, 1);
  add(plan, "a");
  add(plan, "embed");
  add(plan, "lm_head", 1);
  // Rank 0: buffers 0 and 1 hold both tensors; the other name lies on buffer 1 (a twin) and, a
  // second copy, on buffer 2, twice.
  plan.builder.add_dense_shard(0, Side::kSource, 0, 2, kAll);
  plan.builder.add_shard(0, dense(plan, Side::kSource, 2, 1));
  plan.builder.add_buffers(0, Side::kSource, 128, 1);
  for (int i = 0; i < 2; ++i) plan.builder.add_shard(0, dense(plan, Side::kSource, 2, 2));
  // Rank 1 wants the other name; destinations keep it.
  plan.builder.add_dense_shard(1, Side::kDestination, 2, 1, kAll);
  const std::vector<SliceSpec> slices = {{2, 1, 1, plan.builder.add_box(kAll)}};
  plan.transfer(OpRole::kInject, 0, 1, plan.builder.add_bundle(slices), 0, 128, kNone, kNone);
  const Plan sealed = plan.seal();
  expect_right(sealed);
  EXPECT_THAT(sealed.rank_shard_first, ElementsAre(0, 2, 3));
  EXPECT_THAT(sealed.shard_tensor_first, ElementsAre(0, 1, 2));
  EXPECT_THAT(sealed.shard_tensor_count, ElementsAre(2, 1, 1));
  EXPECT_THAT(sealed.shard_buffer, ElementsAre(0, 2, 0));
}

TEST(PlanBuilder, ARangeMayMixTensorsAndOtherNames) {
  HandPlan plan(1, 1);
  add(plan, "embed");
  add(plan, "lm_head", 0);
  add(plan, "b");
  // Three tensors, two to a buffer: 0 and its other name in buffer 0, b in buffer 1.
  plan.builder.add_buffers(0, Side::kSource, 256, 2);
  ShardSpec shard = dense(plan, Side::kSource, 0, 0);
  shard.tensor_count = 3;
  shard.inner_count = 2;
  shard.inner_bits = 128 * 8;
  plan.builder.add_shard(0, shard);
  const Plan sealed = plan.seal();
  validate_plan(sealed, "plan");
  EXPECT_THAT(sealed.shard_tensor_first, ElementsAre(0, 0, 2));
  EXPECT_THAT(sealed.shard_buffer, ElementsAre(0, 0, 1));
  EXPECT_THAT(sealed.shard_bit_offset, ElementsAre(0, 128 * 8, 0));
}

TEST(PlanBuilder, FillsStandByRankAndBuffer) {
  HandPlan plan(3, 1);
  for (const std::int32_t rank : {0, 2})
    plan.builder.add_buffers(rank, Side::kDestination, 64, 3, "padded");
  plan.builder.add_fill(2, 1, 2, 8, 8);
  plan.builder.add_fill(0, 0, 3, 32, 16);
  plan.builder.add_fill(2, 0, 1, 0, 4);
  plan.builder.add_fill(2, 0, 1, 16, 0);  // no bytes
  plan.builder.add_fill(2, 0, 0, 16, 4);  // no buffers
  const Plan sealed = plan.seal();
  validate_plan(sealed, "plan");
  EXPECT_THAT(sealed.rank_fill_first, ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(sealed.fill_buffer, ElementsAre(0, 0, 1));
  EXPECT_THAT(sealed.fill_buffer_count, ElementsAre(3, 1, 2));
  EXPECT_THAT(sealed.fill_offset, ElementsAre(32, 0, 8));
  EXPECT_THAT(sealed.fill_bytes, ElementsAre(16, 4, 8));
  EXPECT_TRUE(takes_part(sealed, 2));  // it has nothing but padding
  EXPECT_FALSE(takes_part(sealed, 1));
}

TEST(PlanBuilder, BuffersHaveTraits) {
  HandPlan plan(1, 1);
  plan.builder.add_buffers(0, Side::kDestination, 64, 1);
  plan.builder.add_buffers(0, Side::kDestination, 64, 2, "w",
                           {.buffer_class = BufferClass::kLoader,
                            .shadow_commit = true,
                            .post_group = 7,
                            .alignment = 512});
  const Plan sealed = plan.seal();
  EXPECT_THAT(sealed.buffer_class, ElementsAre(0, static_cast<int>(BufferClass::kLoader)));
  EXPECT_THAT(sealed.buffer_commit, ElementsAre(0, 1));
  EXPECT_THAT(sealed.buffer_post_group, ElementsAre(kNone, 7));
  EXPECT_THAT(sealed.buffer_alignment, ElementsAre(256, 512));
}

TEST(PlanBuilder, TextThatIsNotUtf8IsRefused) {
  HandPlan plan(1, 1);
  plan.header.job_name = "caf\xe9.yaml";  // Latin-1
  try {
    plan.seal();
    FAIL() << "sealed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("job_name"));
    EXPECT_THAT(error.what(), HasSubstr("UTF-8"));
  }
  plan.header.job_name = "caf\xc3\xa9.yaml";
  EXPECT_EQ(plan.seal().header().job_name, "caf\xc3\xa9.yaml");
}

}  // namespace
}  // namespace transload::testing
