#include "common/error.h"
#include "tests/planner/schedule/check/expect_violation.h"

// Invariant 1 where data is converted: each test breaks one rule of a right plan.

namespace transload::testing {
namespace {

constexpr const char* kInvariant = "exactly-once";
constexpr std::uint64_t kRow = 128 * 128;  // bytes of a row of blocks

// Tensor 0: [256, 128] bf16; 1: its values; 2: its scales [2, 1].
void add_tensors(PlanBuilder& builder, Making making) {
  const std::array<std::int64_t, 2> shape = {256, 128};
  const std::array<std::int64_t, 2> scales = {2, 1};
  builder.add_tensor("w@bf16", shape, DType::kBF16);
  builder.add_tensor("w", shape, DType::kF8E4M3);
  builder.add_tensor("w.scale", scales, DType::kF32);
  builder.set_made(1, 0, Recipe::kFp8Block128, making);
  builder.set_made(2, 0, Recipe::kFp8Block128Scale, making);
}

std::int32_t made_bundle(PlanBuilder& builder) {
  const std::array<std::int64_t, 4> all = {0, 256, 0, 128};
  const std::array<std::int64_t, 4> scales = {0, 2, 0, 1};
  const std::vector<SliceSpec> slices = {{1, 1, 1, builder.add_box(all)},
                                         {2, 1, 1, builder.add_box(scales)}};
  return builder.add_bundle(slices);
}

void add_shards(PlanBuilder& builder) {
  const std::array<std::int64_t, 4> all = {0, 256, 0, 128};
  const std::array<std::int64_t, 4> scales = {0, 2, 0, 1};
  builder.add_dense_shard(0, Side::kSource, 0, 1, all);
  builder.add_dense_shard(1, Side::kDestination, 1, 1, all);
  builder.add_dense_shard(1, Side::kDestination, 2, 1, scales);
}

// Rank 0 converts in two chunks (operations 0 and 2), which go straight into rank 1's shards
// (1 and 3). The second takes the scales along.
Plan source_plan() {
  HandPlan plan(2, 1);
  add_tensors(plan.builder, Making::kAtSource);
  add_shards(plan.builder);
  plan.builder.set_staging(0, SlotClass::kSend, 2, kRow + 8);
  const std::int32_t bundle = made_bundle(plan.builder);
  const OpId first = plan.convert(0, bundle, 0, kRow, 0);
  plan.transfer(OpRole::kInject, 0, 1, bundle, 0, kRow, 0, kNone, {first});
  const OpId second = plan.convert(0, bundle, kRow, kRow + 8, 1);
  plan.transfer(OpRole::kInject, 0, 1, bundle, kRow, kRow + 8, 1, kNone, {second});
  return plan.seal();
}

// Rank 0 sends the original in two transfers (0 and 1) to raw buffers of rank 1, which then
// converts it (2).
Plan receiver_plan() {
  HandPlan plan(2, 1);
  add_tensors(plan.builder, Making::kAtDestination);
  add_shards(plan.builder);
  const std::array<std::int64_t, 4> all = {0, 256, 0, 128};
  plan.builder.add_dense_shard(1, Side::kDestination, 0, 1, all);
  const std::vector<SliceSpec> slices = {{0, 1, 1, plan.builder.add_box(all)}};
  const std::int32_t original = plan.builder.add_bundle(slices);
  const std::int32_t made = made_bundle(plan.builder);
  const OpId first = plan.transfer(OpRole::kInject, 0, 1, original, 0, 2 * kRow, kNone, kNone);
  const OpId second =
      plan.transfer(OpRole::kInject, 0, 1, original, 2 * kRow, 2 * kRow, kNone, kNone);
  plan.convert(1, made, 0, 2 * kRow + 8, kNone, {first, second});
  return plan.seal();
}

TEST(CheckConversions, RightPlans) {
  expect_right(source_plan());
  expect_right(receiver_plan());
}

// Values are read once; the scales of their blocks fall off.
TEST(CheckConversions, ReadsAreCounted) {
  const Plan source = source_plan();
  EXPECT_EQ(source.op_read_bytes[0], 2 * kRow);
  EXPECT_EQ(source.op_read_bytes[1], 0u);
  EXPECT_EQ(source.op_read_bytes[2], 2 * kRow);
  EXPECT_EQ(receiver_plan().op_read_bytes[2], 4 * kRow);
}

// Scales by themselves read their blocks: two of 128 x 128 elements of two bytes.
TEST(CheckConversions, ScalesAloneReadTheirBlocks) {
  HandPlan plan(1, 1);
  add_tensors(plan.builder, Making::kAtSource);
  const std::int32_t bundle = made_bundle(plan.builder);
  plan.convert(0, bundle, 2 * kRow, 8, kNone);
  EXPECT_EQ(plan.seal().op_read_bytes[0], 2 * 2 * 128 * 128u);
}

TEST(CheckConversions, BlocksAreNotSplitOverOperations) {
  expect_violation(edit(source_plan(),
                        [](PlanTables& t) {
                          for (const OpId op : {0, 1}) t.op_bytes[op] -= 128;
                          for (const OpId op : {2, 3}) {
                            t.op_begin[op] -= 128;
                            t.op_bytes[op] += 128;
                          }
                          t.staging_slot_bytes[0] += 128;
                        }),
                   kInvariant,
                   {"operation 0 (convert, rank 0", "makes tensor w box [0,127) x [0,128)",
                    "without the rest of a block of fp8-block128"});
}

TEST(CheckConversions, ElementsAreNotSplit) {
  // The first four bytes of the scales, and two.
  expect_violation(edit(source_plan(),
                        [](PlanTables& t) {
                          for (const OpId op : {0, 1}) t.op_bytes[op] += kRow + 2;
                          for (const OpId op : {2, 3}) {
                            t.op_begin[op] += kRow + 2;
                            t.op_bytes[op] -= kRow + 2;
                          }
                          t.staging_slot_bytes[0] += kRow;
                        }),
                   kInvariant, {"operation 0", "cuts an element"});
}

TEST(CheckConversions, TheWholeBlockMustBeHeld) {
  // Rank 0 holds all but the last row, which the second convert needs.
  expect_violation(edit(source_plan(),
                        [](PlanTables& t) {
                          t.bounds.insert(t.bounds.end(), {0, 255, 0, 128});
                          t.shard_box[0] = t.bounds.size() - 4;
                          t.loop_length[0] = 255;
                        }),
                   kInvariant, {"reads tensor w@bf16 box", "rank 0 does not hold on its source"});
}

TEST(CheckConversions, MadeTensorsAreNotCopied) {
  expect_violation(edit(source_plan(),
                        [](PlanTables& t) {
                          t.op_kind[0] = static_cast<std::uint8_t>(OpKind::kCopy);
                          t.op_role[0] = static_cast<std::uint8_t>(OpRole::kPack);
                          t.op_read_bytes[0] = 0;
                        }),
                   kInvariant, {"operation 0", "reads tensor w box", "does not hold"});
}

TEST(CheckConversions, ReceiversWaitForWhatTheyConvert) {
  expect_violation(
      edit(receiver_plan(), [](PlanTables& t) { erase_edge(t.op_after_first, t.op_after, 2, 1); }),
      kInvariant,
      {"operation 2 (convert, rank 1", "reads tensor w@bf16 box [128,256) x [0,128)",
       "no edge from its writer operation 1"});
}

TEST(CheckConversions, ShardsEndBetweenBlocks) {
  // The receiver's scale row 0 stays; its values begin at row 1.
  expect_violation(edit(receiver_plan(),
                        [](PlanTables& t) {
                          t.bounds.insert(t.bounds.end(), {1, 256, 0, 128});
                          for (std::size_t row = 0; row < t.shard_box.size(); ++row)
                            if (t.shard_tensor_first[row] == 1) {
                              t.shard_box[row] = t.bounds.size() - 4;
                              t.loop_length[t.shard_loop_first[row]] = 255;
                            }
                        }),
                   kInvariant, {"rank 1", "tensor w box [1,256) x [0,128)", "cuts a block"});
}

TEST(CheckConversions, RolesAndTablesAgree) {
  const auto malformed = [](const std::function<void(PlanTables&)>& change) {
    const Plan plan = edit(source_plan(), change);
    EXPECT_THROW(validate_plan(plan, "plan"), InputError);
  };
  malformed([](PlanTables& t) { t.tensor_recipe[1] = 0; });
  malformed([](PlanTables& t) { t.tensor_recipe[1] = kRecipeCount; });
  malformed([](PlanTables& t) { t.tensor_making[1] = 3; });
  malformed([](PlanTables& t) { t.tensor_made_from[1] = 2; });
  malformed([](PlanTables& t) { t.tensor_made_from[1] = 7; });
  malformed(
      [](PlanTables& t) { t.tensor_recipe[2] = static_cast<std::uint8_t>(Recipe::kMxFp8Scale); });
  malformed([](PlanTables& t) { t.op_read_bundle[0] = 0; });
  malformed([](PlanTables& t) { t.op_read_bytes[1] = 1; });
  malformed([](PlanTables& t) { t.convert_efficiency_ppm[0] = -1; });
}

}  // namespace
}  // namespace transload::testing
