// Jobs inside one NVLink domain by hand: NVLink 1,000 B/s each way, 1-byte elements.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

// One node of `gpus` GPUs whose NICs are much slower than NVLink.
Plan plan_of(int gpus, const std::string& source, const std::string& destination) {
  const Job job = job_from_text(
      fmt::format("topology:\n  efficiency: 1\n  latency: 0\n  nodes: [{{gpus: {}, nvlink: "
                  "1000B/s, nic: 1B/s}}]\ntensors:\n  - {{name: w, shape: [12000], dtype: uint8, "
                  "source: {}, destination: {}}}\n",
                  gpus, source, destination),
      "job.yaml", "");
  return testing::plan_of(job, job.strategy);
}

TEST(TransloadInside, HoldersShareTheCopies) {
  // Four holders, four others that want a quarter each: 3,000 bytes leave and enter each GPU.
  const Plan plan = plan_of(8, "{mesh: {x: 4}, placements: [S(0)], ranks: 0-3}",
                            "{mesh: {x: 4}, placements: [S(0)], ranks: 4-7}");
  EXPECT_DOUBLE_EQ(ideal_seconds(plan), 3);
  EXPECT_EQ(plan_totals(plan).network_bytes, 0u);
}

TEST(TransloadInside, ReceiversHandOnWhereHoldersWouldBeLate) {
  // One holder, four receivers of all 12,000 bytes: direct copies keep its NVLink busy for 48 s,
  // the receivers' for 12 s each. Every byte once, handed on by one of the four: 12 s.
  const Plan plan = plan_of(5, "{mesh: {x: 1}, placements: [R], ranks: 0}",
                            "{mesh: {x: 4}, placements: [R], ranks: 1-4}");
  EXPECT_NEAR(ideal_seconds(plan), 12, 0.1);
  EXPECT_EQ(plan_totals(plan).nvlink_bytes, 48000u);
}

TEST(TransloadInside, NoMoreIsHandedOnThanNeeded) {
  // Two holders of a half each and two receivers of everything: 12 s out of each holder, as long as
  // into each receiver. Nobody hands on.
  const Plan plan = plan_of(4, "{mesh: {x: 2}, placements: [S(0)], ranks: 0-1}",
                            "{mesh: {x: 2}, placements: [R], ranks: 2-3}");
  EXPECT_DOUBLE_EQ(ideal_seconds(plan), 12);
  for (OpId op = 0; op < plan.operations(); ++op)
    EXPECT_TRUE(op_kind(plan, op) != OpKind::kTransfer || plan.op_source[op] < 2);
}

}  // namespace
}  // namespace transload
