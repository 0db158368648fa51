// Rail-only fabrics and planes by hand: nodes of four GPUs, NIC 1 B/s, NVLink 9 B/s, 1-byte
// elements. Rank r of a node is on rail r mod 4.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/units.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

using testing::choice_of;
using testing::PairBytes;

constexpr int kRails = 4;

Job rail_job(const std::string& tensors, int nodes, const std::string& options = "") {
  return job_from_text(
      fmt::format("topology:\n  efficiency: 1\n  latency: 0\n  nodes: [{{count: {}, gpus: 4, "
                  "nvlink: 9B/s, nic: 1B/s}}]\n  fabric: {{kind: rail-only}}\ntensors:\n{}{}",
                  nodes, tensors, options),
      "job.yaml", "");
}

std::string tensor(const std::string& name, int bytes, const std::string& source,
                   const std::string& destination) {
  return fmt::format("  - {{name: {}, shape: [{}], dtype: uint8, source: {}, destination: {}}}\n",
                     name, bytes, source, destination);
}

std::string replicas(int count, const std::string& ranks) {
  return fmt::format("{{mesh: {{x: {}}}, placements: [R], ranks: {}}}", count, ranks);
}

std::string shards(int count, const std::string& ranks) {
  return fmt::format("{{mesh: {{x: {}}}, placements: [S(0)], ranks: {}}}", count, ranks);
}

// Bytes by (source rank, destination rank); no transfer between nodes leaves its rail.
PairBytes transfers_of(const Plan& plan) {
  PairBytes bytes;
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) != OpKind::kTransfer) continue;
    const int from = plan.op_source[op];
    const int to = plan.op_destination[op];
    bytes[{from, to}] += plan.op_bytes[op];
    const bool network = plan.rank_domain[static_cast<std::size_t>(from)] !=
                         plan.rank_domain[static_cast<std::size_t>(to)];
    EXPECT_TRUE(!network || from % kRails == to % kRails) << from << " to " << to;
  }
  return bytes;
}

struct Outcome {
  PairBytes transfers;
  double ideal_s = 0;
  double bound_s = 0;
};

Outcome outcome_of(const Job& job, Discipline discipline = Discipline::kWindows) {
  const Plan plan = testing::plan_of(job, job.strategy, discipline);
  return {transfers_of(plan), ideal_seconds(plan), to_seconds(prepare(job).bounds.bound_ps)};
}

std::string refusal_of(const Job& job, const std::string& strategy) {
  try {
    make_plan(job, prepare(job), choice_of(strategy), Discipline::kWindows);
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

// RC-124 of the cases: GPU 0 of one node to GPU 3 of the other.
const std::string kRankZeroToSeven = tensor("w", 64, replicas(1, "0"), replicas(1, "7"));

TEST(TransloadRails, ACrossRailPairTakesNvlinkAtTheReceiver) {
  const Outcome outcome = outcome_of(rail_job(kRankZeroToSeven, 2, "options: {helpers: [4]}\n"));
  EXPECT_EQ(outcome.transfers, (PairBytes{{{0, 4}, 64}, {{4, 7}, 64}}));
}

TEST(TransloadRails, ACrossRailPairTakesNvlinkAtTheSender) {
  const Outcome outcome = outcome_of(rail_job(kRankZeroToSeven, 2, "options: {helpers: [3]}\n"));
  EXPECT_EQ(outcome.transfers, (PairBytes{{{0, 3}, 64}, {{3, 7}, 64}}));
}

TEST(TransloadRails, AllRailsOfBothNodesShareTheBytes) {
  const Outcome outcome = outcome_of(rail_job(kRankZeroToSeven, 2, "options: {helpers: domain}\n"));
  EXPECT_DOUBLE_EQ(outcome.ideal_s, 16);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 16);
}

TEST(TransloadRails, APairWithNoCommonRailIsReportedWithBothRanks) {
  for (const char* helpers : {"job", "none", "[1, 5, 6]"}) {
    const Job job =
        rail_job(kRankZeroToSeven, 2, fmt::format("options: {{helpers: {}}}\n", helpers));
    if (std::string(helpers) == "[1, 5, 6]") {
      // Ranks 1 and 5 share a rail: NVLink on both sides.
      EXPECT_EQ(outcome_of(job).transfers, (PairBytes{{{0, 1}, 64}, {{1, 5}, 64}, {{5, 7}, 64}}));
      continue;
    }
    EXPECT_THAT(refusal_of(job, "transload"), ::testing::HasSubstr("ranks 0 and 7"));
    EXPECT_THAT(refusal_of(job, "p2p"), ::testing::HasSubstr("ranks 0 and 7"));
  }
}

TEST(TransloadRails, ReversedRanksStillFillEveryNic) {
  // Rank i to rank 7 - i: no pair shares a rail, so every byte takes NVLink once; 16 bytes a NIC.
  const Job job = rail_job(tensor("w", 64, shards(4, "0-3"), shards(4, "[7, 6, 5, 4]")), 2);
  for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
    const Outcome outcome = outcome_of(job, discipline);
    EXPECT_DOUBLE_EQ(outcome.ideal_s, 16);
    EXPECT_DOUBLE_EQ(outcome.bound_s, 16);
  }
}

TEST(TransloadRails, AReceiverOnTheSourcesRailLandsWithoutAHop) {
  // One source per node and rail, all four ranks of the receiving node want everything: what rank r
  // sends lands on rank 8 + r, which hands it to three others. No hop before the network.
  const Outcome outcome =
      outcome_of(rail_job(tensor("w", 64, shards(4, "0-3"), replicas(4, "8-11")), 3));
  for (int from = 0; from < kRails; ++from) {
    EXPECT_EQ(outcome.transfers.at({from, 8 + from}), 16u);
    for (int to = 0; to < kRails; ++to)
      if (to != from) {
        EXPECT_EQ(outcome.transfers.at({8 + from, 8 + to}), 16u);
      }
  }
  EXPECT_EQ(outcome.transfers.size(), 16u);
}

TEST(TransloadRails, RowsToColumnsReachTheBoundOnRails) {
  const Job job = rail_job(
      "  - {name: w, shape: [64, 64], dtype: uint8, source: {mesh: {x: 8}, placements: [S(0)], "
      "ranks: 0-7}, destination: {mesh: {r: 2, x: 4}, placements: [R, S(1)], ranks: 8-15}}\n",
      4);
  const Outcome outcome = outcome_of(job);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 1024);  // 4,096 bytes into four NICs
  EXPECT_NEAR(outcome.ideal_s, 1024, 10);
}

TEST(TransloadRails, RelaysStayOnTheirRails) {
  // Two trainers of one node, the same 64 bytes for each of two other nodes: at the bound every
  // byte leaves once, 32 from each trainer, and the nodes exchange them.
  const Job job = rail_job(
      tensor("w", 64, shards(2, "0-1"), "{mesh: {d: 2, x: 4}, placements: [R, S(0)], ranks: 4-11}"),
      3);
  const Outcome outcome = outcome_of(job);
  EXPECT_DOUBLE_EQ(outcome.bound_s, 32);
  EXPECT_LE(outcome.ideal_s, 1.25 * outcome.bound_s);
}

TEST(TransloadRails, PlanesDoNotMeet) {
  // Two NICs per GPU, each in a plane of its own: a byte lands on the plane that it left on.
  const Job job = job_from_text(
      "topology:\n  efficiency: 1\n  latency: 0\n  nodes: [{count: 3, gpus: 1, nics_per_gpu: 2, "
      "nic: 1B/s}]\n  fabric: {kind: leaf-spine, unit: 4, planes: 2}\ntensors:\n" +
          tensor("w", 64, shards(2, "0-1"), replicas(1, "2")),
      "job.yaml", "");
  const Plan plan = testing::plan_of(job, job.strategy);
  EXPECT_DOUBLE_EQ(ideal_seconds(plan), 32);
  EXPECT_DOUBLE_EQ(to_seconds(prepare(job).bounds.bound_ps), 32);
  // The plan's links have names like node0.nic1.out; NIC i of a node is in plane i.
  const auto plane = [&](std::int32_t port) {
    return plan_name(plan, plan.port_name[static_cast<std::size_t>(port)]).find("nic1");
  };
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) != OpKind::kTransfer) continue;
    EXPECT_EQ(plane(plan.op_out_port[op]) == std::string::npos,
              plane(plan.op_in_port[op]) == std::string::npos);
  }
}

}  // namespace
}  // namespace transload
