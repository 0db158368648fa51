// Sizes around 2^31 and 2^32 bytes, through plan, proof and simulation (user case RC-087: staging
// of exactly 2^32 bytes never finished). Nothing is run: the bytes need not exist.
#include <gtest/gtest.h>

#include <string>

#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"

namespace transload {
namespace {

Job job_of(std::int64_t bytes, const std::string& options) {
  return job_from_text(
      "topology: {efficiency: 1, latency: 0, nodes: [{count: 2, gpus: 1, nic: 50GB/s}]}\n"
      "tensors:\n  - {name: w, shape: [" +
          std::to_string(bytes) +
          "], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0}, destination: "
          "{mesh: {x: 1}, placements: [R], ranks: 1}}\n" +
          options,
      "job.yaml", "");
}

void expect_moved(const Job& job, std::int64_t bytes, Discipline discipline) {
  const Plan plan = make_plan(job, prepare(job), job.strategy, discipline);
  EXPECT_TRUE(check_plan(plan).ok);
  const PlanTotals totals = plan_totals(plan);
  EXPECT_EQ(totals.payload_bytes, static_cast<std::uint64_t>(bytes));
  EXPECT_EQ(totals.network_bytes, static_cast<std::uint64_t>(bytes));
  SimulateOptions exact;
  exact.exact = true;
  const double seconds = static_cast<double>(bytes) / 50e9;
  EXPECT_NEAR(simulate(plan, exact).refit_s, seconds, 1e-6 * seconds);
}

TEST(SizeLimits, RC087_BytesAround2To31And2To32) {
  constexpr std::int64_t k2To32 = std::int64_t{1} << 32;
  for (const std::int64_t bytes : {k2To32 / 2, k2To32 - 1, k2To32, k2To32 + 1})
    for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      SCOPED_TRACE(bytes);
      expect_moved(job_of(bytes, ""), bytes, discipline);
    }
}

// One operation of so many bytes.
TEST(SizeLimits, RC087_ChunksAround2To31And2To32) {
  constexpr std::int64_t k2To32 = std::int64_t{1} << 32;
  for (const std::int64_t bytes : {k2To32 / 2, k2To32 - 1, k2To32, k2To32 + 1}) {
    SCOPED_TRACE(bytes);
    const Job job = job_of(bytes, "options: {chunk_bytes: 8GiB}\n");
    expect_moved(job, bytes, Discipline::kWindows);
    EXPECT_EQ(make_plan(job).operations(), 1u);
  }
}

}  // namespace
}  // namespace transload
