// Small jobs whose best assignment is known by hand: loads are exact to the byte. NIC 1 B/s,
// NVLink 9 B/s, 1-byte elements, as the bounds' tests. Examples A to D of the project's theory; E
// and F are in kimi_k2_examples_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/units.h"
#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"

namespace transload {
namespace {

struct Outcome {
  PlanTotals totals;
  double ideal_s = 0;
  double bound_s = 0;
};

Outcome plan_of(const std::string& text) {
  const Job job =
      job_from_text("topology:\n  efficiency: 1\n  latency: 0\n  nodes:\n" + text, "job.yaml", "");
  const PlanningInput input = prepare(job);
  const Plan plan = make_plan(job, input, job.strategy, Discipline::kWindows);
  const CheckReport report = check_plan(plan);
  EXPECT_TRUE(report.ok) << report.violations[0].text;
  return {plan_totals(plan), ideal_seconds(plan), to_seconds(input.bounds.bound_ps)};
}

std::string node(int gpus, int count = 1) {
  return fmt::format("    - {{count: {}, gpus: {}, nic: 1B/s{}}}\n", count, gpus,
                     gpus > 1 ? ", nvlink: 9B/s" : "");
}

TEST(TransloadExamples, A_RowsToColumnsLoadEverySourceWith32) {
  // 8 x 8 bytes, rows over 2 GPUs to columns over 4: each source sends 32, each receiver gets 16.
  const Outcome outcome = plan_of(node(2) + node(4) + R"(
tensors:
  - {name: w, shape: [8, 8], dtype: uint8, source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1},
     destination: {mesh: {y: 4}, placements: [S(1)], ranks: 2-5}}
)");
  EXPECT_EQ(outcome.totals.max_nic_out_bytes, 32u);
  EXPECT_EQ(outcome.totals.max_nic_in_bytes, 16u);
  EXPECT_DOUBLE_EQ(outcome.ideal_s, 32);
}

TEST(TransloadExamples, APrime_ReplicasShareTheLoad) {
  const Outcome outcome = plan_of(node(4) + node(4) + R"(
tensors:
  - {name: w, shape: [8, 8], dtype: uint8, source: {mesh: {r: 2, x: 2}, placements: [R, S(0)], ranks: 0-3},
     destination: {mesh: {y: 4}, placements: [S(1)], ranks: 4-7}}
)");
  EXPECT_EQ(outcome.totals.max_nic_out_bytes, 16u);
  EXPECT_EQ(outcome.totals.max_nic_in_bytes, 16u);
}

TEST(TransloadExamples, B_RelaysHalveTheTimeOfTwoDomains) {
  // Two trainers to TP2 in two replicas in each of two domains of four GPUs. Every byte leaves the
  // trainers once (32 each) and is exchanged between the domains: 128 network bytes, 16 per landing
  // NIC, 8 forwarded per NIC.
  const Outcome outcome = plan_of(node(2) + node(4, 2) + R"(
tensors:
  - {name: w, shape: [8, 8], dtype: uint8, source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1},
     destination: {mesh: {d: 4, y: 2}, placements: [R, S(1)], ranks: 2-9}}
)");
  EXPECT_EQ(outcome.totals.network_bytes, 128u);
  EXPECT_EQ(outcome.totals.max_nic_out_bytes, 32u);
  EXPECT_EQ(outcome.totals.max_nic_in_bytes, 16u);
  EXPECT_EQ(outcome.totals.nvlink_bytes, 128u);  // each byte of a domain reaches a second GPU
  EXPECT_DOUBLE_EQ(outcome.ideal_s, 32);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 32);
}

std::string example_c(const std::string& options) {
  return node(8) + node(8) + R"(
tensors:
  - {name: w, shape: [64], dtype: uint8, source: {mesh: {x: 8}, placements: [R], ranks: 0-7},
     destination: {mesh: {y: 1}, placements: [R], ranks: 8}}
)" + options;
}

TEST(TransloadExamples, C_IdleNicsOfTheDomainLandForTheOneThatWants) {
  EXPECT_DOUBLE_EQ(plan_of(example_c("")).ideal_s, 64) << "only the job's ranks help by default";
  const Outcome helped = plan_of(example_c("options: {helpers: domain}\n"));
  EXPECT_EQ(helped.totals.max_nic_in_bytes, 8u);
  EXPECT_EQ(helped.totals.max_nic_out_bytes, 8u);
  EXPECT_DOUBLE_EQ(helped.ideal_s, 8);
  EXPECT_DOUBLE_EQ(helped.bound_s, 8);
  EXPECT_DOUBLE_EQ(plan_of(example_c("options: {helpers: [9, 10, 11]}\n")).ideal_s, 16);
  EXPECT_DOUBLE_EQ(plan_of(example_c("options: {helpers: none}\n")).ideal_s, 64);
}

TEST(TransloadExamples, D_UnequalHoldersAreNotSplitEqually) {
  // A only on rank 0, B on both: A from rank 0, B from rank 1.
  const Outcome outcome = plan_of(R"(    - {count: 2, gpus: 1, nic: 1B/s}
    - {gpus: 1, nic: 100B/s}
tensors:
  - {name: a, shape: [60], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 1}, placements: [R], ranks: 2}}
  - {name: b, shape: [60], dtype: uint8, source: {mesh: {x: 2}, placements: [R], ranks: 0-1},
     destination: {mesh: {y: 1}, placements: [R], ranks: 2}}
)");
  EXPECT_EQ(outcome.totals.max_nic_out_bytes, 60u);
}

TEST(TransloadExamples, SourceNicsAreSharedOverNvlink) {
  // 64 bytes on one GPU of a domain of four, whose others hold a byte each of something else: the
  // domain's NICs carry 67 / 4 each, to a receiver that is fast enough.
  const Outcome outcome = plan_of(node(4) + R"(    - {gpus: 1, nic: 100B/s}
tensors:
  - {name: a, shape: [64], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 1}, placements: [R], ranks: 4}}
  - {name: b, shape: [3], dtype: uint8, source: {mesh: {x: 3}, placements: [S(0)], ranks: 1-3},
     destination: {mesh: {y: 1}, placements: [R], ranks: 4}}
)");
  EXPECT_EQ(outcome.totals.max_nic_out_bytes, 17u);
}

}  // namespace
}  // namespace transload
