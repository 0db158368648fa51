#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "planner/schedule/check/check_plan.h"
#include "planner/schedule/plan_validate.h"
#include "planner/schedule/scale.h"
#include "tests/testing/hand_plans.h"

// The size that the checker is made for. The limit is generous: machines are shared.

namespace transload::testing {
namespace {

constexpr std::int32_t kSide = 256;
constexpr std::uint32_t kTensors = 49'920;  // 195 on every source rank
constexpr std::uint32_t kPerSource = kTensors / kSide;
constexpr std::uint64_t kChunk = 30'720;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Every source sends 4 rows of each of its tensors to every destination, in 13 slices of 15
// tensors, in chunks through send and land slots.
Plan large_plan() {
  HandPlan plan(2 * kSide, 8);
  PlanBuilder& builder = plan.builder;
  const std::vector<std::int64_t> shape = {64, 64};
  const std::vector<std::int64_t> all = {0, 64, 0, 64};
  for (std::uint32_t t = 0; t < kTensors; ++t)
    builder.add_tensor("t" + std::to_string(t), shape, DType::kF32);
  for (std::int32_t rank = 0; rank < kSide; ++rank) {
    const std::int64_t row = 4 * (rank % 16);
    const std::vector<std::int64_t> rows = {row, row + 4, 0, 64};
    builder.add_dense_shard(rank, Side::kSource, static_cast<std::uint32_t>(rank) * kPerSource,
                            kPerSource, all);
    builder.add_dense_shard(kSide + rank, Side::kDestination, 0, kTensors, rows);
    builder.set_staging(rank, SlotClass::kSend, 8, kChunk);
    builder.set_staging(kSide + rank, SlotClass::kLand, 8, kChunk);
  }
  std::vector<std::vector<OpId>> sends(kSide);
  std::vector<std::vector<OpId>> unpacks(kSide);
  builder.reserve_ops(1'400'000, 3'000'000);
  for (std::int32_t shift = 0; shift < kSide; ++shift) {
    for (std::int32_t source = 0; source < kSide; ++source) {
      const std::int32_t to = (source + shift) % kSide;
      const std::int64_t row = 4 * (to % 16);
      const std::vector<std::int64_t> rows = {row, row + 4, 0, 64};
      std::vector<SliceSpec> slices;
      for (std::uint32_t k = 0; k < kPerSource; k += 15)
        slices.push_back(
            {static_cast<std::uint32_t>(source) * kPerSource + k, 15, 1, builder.add_box(rows)});
      const std::int32_t bundle = builder.add_bundle(slices);
      const std::uint64_t bytes = builder.bundle_bytes(bundle);
      for (std::uint64_t begin = 0; begin < bytes; begin += kChunk) {
        const std::uint64_t size = std::min(kChunk, bytes - begin);
        auto& sent = sends[static_cast<std::size_t>(source)];
        auto& freed = unpacks[static_cast<std::size_t>(to)];
        const auto send_slot = static_cast<std::int32_t>(sent.size() % 8);
        const auto land_slot = static_cast<std::int32_t>(freed.size() % 8);
        std::vector<OpId> after;
        if (sent.size() >= 8) after = {sent[sent.size() - 8]};
        const OpId pack =
            plan.copy(OpRole::kPack, source, bundle, begin, size, kNone, send_slot, after);
        after = {pack};
        if (freed.size() >= 8) after.push_back(freed[freed.size() - 8]);
        sent.push_back(plan.transfer(OpRole::kInject, source, kSide + to, bundle, begin, size,
                                     send_slot, land_slot, after));
        freed.push_back(plan.copy(OpRole::kUnpack, kSide + to, bundle, begin, size, land_slot,
                                  kNone, {sent.back()}));
      }
    }
  }
  return plan.seal();
}

// One flat buffer of 20,000 padded tensors, every padded row of which is a fill of its own.
TEST(CheckPlan, ManyTensorsInOneBuffer) {
  HandPlan plan(2, 1);
  PlanBuilder& builder = plan.builder;
  constexpr std::uint32_t kParts = 20'000;
  constexpr std::uint64_t kRow = 32;               // bytes, of which 24 are used
  const std::vector<std::int64_t> shape = {8, 6};  // fp32
  const std::vector<std::int64_t> all = {0, 8, 0, 6};
  const std::uint32_t flat =
      builder.add_buffers(1, Side::kDestination, kParts * 8 * kRow, 1, "flat");
  for (std::uint32_t t = 0; t < kParts; ++t) {
    builder.add_tensor("t" + std::to_string(t), shape, DType::kF32);
    ShardSpec shard;
    shard.side = Side::kDestination;
    shard.tensor_first = t;
    shard.box = builder.add_box(all);
    shard.buffer = flat;
    shard.bit_offset = 8 * 8 * kRow * t;
    shard.loops = {{0, 8, 8 * kRow}, {1, 6, 32}};
    builder.add_shard(1, shard);
    for (std::uint64_t row = 0; row < 8; ++row)
      builder.add_fill(1, flat, 1, (8 * t + row) * kRow + 24, 8);
  }
  builder.add_dense_shard(0, Side::kSource, 0, kParts, all);
  const std::vector<SliceSpec> slices = {{0, kParts, 1, builder.add_box(all)}};
  const std::int32_t bundle = builder.add_bundle(slices);
  plan.transfer(OpRole::kInject, 0, 1, bundle, 0, builder.bundle_bytes(bundle), kNone, kNone);
  const Plan sealed = plan.seal();
  const auto start = std::chrono::steady_clock::now();
  validate_plan(sealed, "flat");
  EXPECT_TRUE(check_plan(sealed).ok);
  const Plan scaled = scale_plan(sealed, 16);
  EXPECT_EQ(scaled.header().scale, 16u);  // rows by 8, columns by gcd(6, 2, 8) = 2
  EXPECT_TRUE(check_plan(scaled).ok);
  EXPECT_LT(seconds_since(start), 5);
  std::cout << "validate, check, scale, check: " << seconds_since(start) << " s\n";
}

TEST(FullCheckPlan, MillionOperationsInSeconds) {
  const Plan plan = large_plan();
  // 256 x 256 bundles of 195 x 1,024 bytes: 7 chunks, 3 operations each.
  ASSERT_EQ(plan.operations(), 256u * 256u * 7u * 3u);
  auto start = std::chrono::steady_clock::now();
  validate_plan(plan, "large");
  std::cout << "validate_plan: " << seconds_since(start) << " s\n";
  start = std::chrono::steady_clock::now();
  const CheckReport report = check_plan(plan);
  const double seconds = seconds_since(start);
  std::cout << "check_plan: " << seconds << " s\n";
  EXPECT_TRUE(report.ok) << report.violations[0].text;
  EXPECT_LT(seconds, 20);
}

}  // namespace
}  // namespace transload::testing
