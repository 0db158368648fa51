// What conversions cost: HBM bytes read and written at the rate of the kernels that quantise.
#include <gtest/gtest.h>

#include <array>

#include "simulator/estimate.h"
#include "simulator/replay/operation_cost.h"
#include "simulator/simulate.h"
#include "tests/simulator/sketch.h"

namespace transload {
namespace {

// One GPU converts 4096 x 4096 bf16 to fp8 on an HBM link of 1000 GB/s at 80 %, of which kernels
// that quantise reach 50 %.
Plan convert_plan(std::int64_t convert_ppm, std::uint32_t run_bytes) {
  PlanBuilder builder;
  const std::array<std::pair<std::uint64_t, std::int64_t>, 2> rates = {
      {{128, 500'000}, {4096, 1'000'000}}};
  builder.add_gpu_model(rates, convert_ppm);
  builder.add_rank(0, 0, 0, 0);
  const std::array<std::int64_t, 2> shape = {4096, 4096};
  const std::array<std::int64_t, 4> bounds = {0, 4096, 0, 4096};
  builder.add_tensor("w@bf16", shape, DType::kBF16);
  builder.add_tensor("w", shape, DType::kF8E4M3);
  builder.set_made(1, 0, Recipe::kFp8Block128, Making::kAtSource);
  builder.add_dense_shard(0, Side::kSource, 0, 1, bounds);
  builder.add_dense_shard(0, Side::kDestination, 1, 1, bounds);
  const std::uint32_t link = builder.add_link(LinkKind::kHbm, 1000 * kGigabyte, 800'000, "hbm");
  const SliceSpec slice = {1, 1, 1, builder.add_box(bounds)};
  OpSpec op;
  op.kind = OpKind::kConvert;
  op.role = OpRole::kConvert;
  op.out_port = builder.add_port(PortKind::kPack, 0, link, 1, 0, 0, "pack");
  op.bundle = builder.add_bundle(std::span(&slice, 1));
  op.bytes = 4096 * 4096;
  op.run_bytes = run_bytes;
  builder.add_op(op);
  return builder.seal({});
}

constexpr double kMoved = 3.0 * 4096 * 4096;  // two bytes read, one written per element

TEST(Convert, RunsAtTheRateOfItsKernels) {
  const Plan plan = convert_plan(500'000, 0);
  EXPECT_NEAR(simulate(plan, {}).refit_s, kMoved / 500e9, 1e-9);
  EXPECT_NEAR(closed_form_seconds(plan), kMoved / 500e9, 1e-9);
}

// A model that states no rate converts as it copies.
TEST(Convert, WithoutARateAsCopies) {
  EXPECT_NEAR(simulate(convert_plan(0, 0), {}).refit_s, kMoved / 800e9, 1e-9);
}

// Strided sources cost what they cost a copy: half the rate at runs of 128 bytes.
TEST(Convert, ShortRunsSlowItDown) {
  EXPECT_NEAR(simulate(convert_plan(500'000, 128), {}).refit_s, kMoved / 250e9, 1e-9);
}

TEST(Convert, CountsWhatItReadsAndWrites) {
  const SimulationResult prediction = simulate(convert_plan(500'000, 0), {});
  ASSERT_EQ(prediction.links.size(), 1u);
  EXPECT_EQ(prediction.links[0].bytes, static_cast<std::uint64_t>(kMoved));
  ASSERT_EQ(prediction.phases.size(), 1u);
  EXPECT_EQ(prediction.phases[0].name, "convert");
  EXPECT_EQ(prediction.phases[0].bytes, 4096u * 4096);
}

}  // namespace
}  // namespace transload
