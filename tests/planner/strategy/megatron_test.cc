// Megatron's and Awex's rules on small jobs by hand, and Megatron's own planner on whole models.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

using testing::choice_of;
using testing::limits_of;
using testing::plan_of;
using testing::RankBytes;
using testing::small_job;

RankBytes sent(const Job& job, const char* strategy) {
  return testing::sent(plan_of(job, choice_of(strategy)));
}

// One data-parallel group: its first rank serves everybody, whoever else holds the tensor.
TEST(Megatron, OneDataParallelGroupMeansTheFirstHolderServesAll) {
  const Job job = small_job(
      "  - {name: w, shape: [100], dtype: uint8, source: {mesh: {dp: 4}, placements: [R], ranks: "
      "0-3}, destination: {mesh: {tp: 4}, placements: [S(0)], ranks: 4-7}}\n",
      8);
  EXPECT_EQ(sent(job, "megatron"), (RankBytes{{0, 100}}));
}

// tp2 x dp2 to four replicas. Ranks 0 and 2 are one group, 1 and 3 the other; receiver r takes
// group r mod 2 and rank (r div 2) mod 2 of it, so receivers 4, 5 read from the first copy (ranks
// 0, 1) and 6, 7 from the second: 50 bytes from either half to each.
TEST(Megatron, ReceiversTakeGroupsInTurnAndThenTheirRanks) {
  const Job job = small_job(
      "  - {name: w, shape: [100], dtype: uint8, source: {mesh: {dp: 2, tp: 2}, placements: [R, "
      "S(0)], ranks: 0-3}, destination: {mesh: {dp: 4}, placements: [R], ranks: 4-7}}\n",
      8);
  EXPECT_EQ(sent(job, "megatron"), (RankBytes{{0, 100}, {1, 100}, {2, 100}, {3, 100}}));
}

// Six ranks of three parts to two parts of the same dimension: lcm(3, 2) = 6 tiles of 2 rows.
TEST(Megatron, TilesByTheLeastCommonMultiple) {
  const Job job = small_job(
      "  - {name: w, shape: [12, 5], dtype: uint8, source: {mesh: {tp: 3}, placements: [S(0)], "
      "ranks: 0-2}, destination: {mesh: {tp: 2}, placements: [S(0)], ranks: 3-4}}\n",
      5);
  EXPECT_EQ(sent(job, "megatron"), (RankBytes{{0, 20}, {1, 20}, {2, 20}}));
}

// A rank that holds the tensor copies it, although another one would be its turn.
TEST(Megatron, PrefersTheLocalCopy) {
  const Job job = small_job(
      "  - {name: w, shape: [100], dtype: uint8, source: {mesh: {dp: 2}, placements: [R], ranks: "
      "0-1}, destination: {mesh: {dp: 2}, placements: [R], ranks: 1-2}}\n",
      3);
  EXPECT_EQ(sent(job, "megatron"), (RankBytes{{0, 100}}));  // to rank 2 only
}

TEST(Megatron, NamesEveryLimitOnce) {
  const Job job = small_job(
      "  - {name: a, shape: [12, 12], dtype: uint8, source: {mesh: {x: 2, y: 2}, placements: "
      "[S(0), "
      "S(1)], ranks: 0-3}, destination: {mesh: {x: 2}, placements: [S(0)], ranks: 4-5}}\n"
      "  - {name: b, shape: [12, 12], dtype: uint8, source: {mesh: {x: 4}, placements: [S(0)], "
      "ranks: 0-3}, destination: {mesh: {x: 2}, placements: [S(1)], ranks: 4-5}}\n"
      "  - {name: c, shape: [10], dtype: uint8, source: {mesh: {x: 4}, placements: [S(0)], padded: "
      "12, ranks: 0-3}, destination: {mesh: {x: 2}, placements: [S(0)], ranks: 4-5}}\n"
      "  - {name: d, shape: [14], dtype: uint8, source: {mesh: {x: 4}, placements: [S(0)], "
      "ranks: 0-3}, destination: {mesh: {x: 2}, placements: [R], ranks: 4-5}}\n"
      "  - {name: e, shape: [4], dtype: uint8, source: {boxes: {0: [[0, 4]], 1: [[0, 2]]}}, "
      "destination: {mesh: {x: 2}, placements: [R], ranks: 4-5}}\n",
      6);
  const auto limits = limits_of(job, "megatron");
  ASSERT_EQ(limits.size(), 5u);
  const auto& sharded = limits.at("one sharded dimension per side");
  EXPECT_EQ(sharded.tensor, "a");
  EXPECT_EQ(sharded.value, "2 on the source");
  EXPECT_EQ(limits.at("the same sharded dimension on both sides").value, "0 and 1");
  EXPECT_EQ(limits.at("the same padded length on both sides").value, "12 and 10");
  EXPECT_EQ(limits.at("shards of equal size").value, "4 unequal parts of 14 on the source");
  EXPECT_EQ(limits.at("every part of a tensor on equally many source ranks").value,
            "on 1 and on 2");
  try {
    make_plan(job, prepare(job), choice_of("megatron"), Discipline::kWindows);
    FAIL() << "planned";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.limits().size(), 5u);
    EXPECT_NE(std::string(error.what()).find("2 on the source"), std::string::npos);
  }
}

// Replica i of the receivers reads from replica i mod 3 of the holders, by number.
TEST(Awex, ReplicasReadFromReplicasByNumber) {
  const Job job = small_job(
      "  - {name: w, shape: [100], dtype: uint8, source: {mesh: {dp: 3}, placements: [R], ranks: "
      "0-2}, destination: {mesh: {dp: 4}, placements: [R], ranks: 3-6}}\n",
      7);
  EXPECT_EQ(sent(job, "awex"), (RankBytes{{0, 200}, {1, 100}, {2, 100}}));
  EXPECT_TRUE(refusals(job, prepare(job), choice_of("awex")).empty());
}

// By number even where a receiver holds the bytes: replica 0 of the receivers is rank 1, and its
// turn is rank 0.
TEST(Awex, DoesNotPreferLocalCopies) {
  const Job job = small_job(
      "  - {name: w, shape: [100], dtype: uint8, source: {mesh: {dp: 2}, placements: [R], ranks: "
      "0-1}, destination: {mesh: {dp: 2}, placements: [R], ranks: 1-2}}\n",
      3);
  EXPECT_EQ(sent(job, "awex"), (RankBytes{{0, 100}, {1, 100}}));
}

// A vocabulary of 10 that both sides pad to 12: equal parts of 3 rows, the last with 1 of its own.
TEST(Megatron, TakesEqualPadding) {
  const Job job = small_job(
      "  - {name: w, shape: [10], dtype: uint8, source: {mesh: {x: 4}, placements: [S(0)], padded: "
      "12, ranks: 0-3}, destination: {mesh: {x: 2}, placements: [S(0)], padded: 12, ranks: 4-5}}\n",
      6);
  EXPECT_EQ(sent(job, "megatron"), (RankBytes{{0, 3}, {1, 3}, {2, 3}, {3, 1}}));
}

// What Megatron's own planner gave for the most loaded sender, driven on CPU: GB = 1e9 bytes
// (Megatron-LM d98e8a64ddf3, measured 2026-11-30 on the development machine).
struct MeasuredJob {
  const char* name;
  double max_send_gb;
};

void expect_measured(const MeasuredJob& measured) {
  const Job job =
      load_job(std::string(TRANSLOAD_SOURCE_DIR) + "/examples/megatron/" + measured.name + ".yaml");
  EXPECT_EQ(job.strategy.name, "megatron");
  const Plan plan = make_plan(job);
  EXPECT_NEAR(static_cast<double>(plan_totals(plan).max_nic_out_bytes) / 1e9, measured.max_send_gb,
              0.05 * measured.max_send_gb);
}

class MegatronMeasured : public ::testing::TestWithParam<MeasuredJob> {};
TEST_P(MegatronMeasured, MostLoadedSenderIsTheirs) { expect_measured(GetParam()); }
class FullMegatronMeasured : public ::testing::TestWithParam<MeasuredJob> {};
TEST_P(FullMegatronMeasured, MostLoadedSenderIsTheirs) { expect_measured(GetParam()); }

const auto name_of_param = [](const auto& measured) {
  std::string name = measured.param.name;
  std::erase(name, '-');
  return name;
};
INSTANTIATE_TEST_SUITE_P(Small, MegatronMeasured,
                         ::testing::Values(MeasuredJob{"qwen3-30b-64-tp8", 14.24},
                                           MeasuredJob{"qwen3-30b-64-tp2-tp8", 15.60}),
                         name_of_param);
INSTANTIATE_TEST_SUITE_P(Full, FullMegatronMeasured,
                         ::testing::Values(MeasuredJob{"qwen3-30b-256-tp8", 17.62},
                                           MeasuredJob{"deepseek-v3-64-tp8", 225.4},
                                           MeasuredJob{"deepseek-v3-64-ep64", 90.2},
                                           MeasuredJob{"deepseek-v3-256-tp8", 208.5},
                                           MeasuredJob{"deepseek-v3-256-tp2-tp8", 94.7},
                                           MeasuredJob{"deepseek-v3-256-ep128", 155.7}),
                         name_of_param);

}  // namespace
}  // namespace transload
