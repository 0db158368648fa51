// User cases: KV heads fewer than tensor-parallel ranks. Every head goes to several ranks: a mesh
// of (head, copy), cut by head and replicated by copy.
#include "tests/planner/job/cases.h"

namespace transload::testing {
namespace {

TEST(Case, RC031_KeyNormOfEightHeadsOverSixteenRanks) {
  const Job job =
      job_of(tensor("k_norm", "[1024]", "bf16", "mesh: {tp: 8}, placements: [S(0)], ranks: 0-7",
                    "mesh: {head: 8, copy: 2}, placements: [S(0), R], ranks: 8-23"));
  for (const auto& [rank, length] : lengths(job, "k_norm", Side::kDestination))
    EXPECT_EQ(length, 128) << "a whole head, not 64 elements, on rank " << rank;
  std::map<Rank, int> sends;
  for (const Operation& op : operations(job)) {
    EXPECT_EQ(op.source, (op.destination - 8) / 2);
    ++sends[op.source];
  }
  EXPECT_EQ(sends.size(), 8u);
  for (const auto& [rank, count] : sends) EXPECT_EQ(count, 2) << rank;
  EXPECT_EQ(totals(job).count, 16);
  EXPECT_EQ(totals(job).bytes, 4096);
}

TEST(Case, RC032_KeyNormOfFourHeadsOverEightRanks) {
  const Job job =
      job_of(tensor("k_norm", "[512]", "bf16", "mesh: {tp: 2}, placements: [S(0)], ranks: 0-1",
                    "mesh: {head: 4, copy: 2}, placements: [S(0), R], ranks: 2-9"));
  std::map<Rank, std::pair<std::int64_t, Rank>> head_and_source;
  for (const Operation& op : operations(job)) {
    EXPECT_EQ(op.hi() - op.lo(), 128);
    head_and_source[op.destination] = {op.lo() / 128, op.source};
  }
  EXPECT_EQ(head_and_source, (std::map<Rank, std::pair<std::int64_t, Rank>>{{2, {0, 0}},
                                                                            {3, {0, 0}},
                                                                            {4, {1, 0}},
                                                                            {5, {1, 0}},
                                                                            {6, {2, 1}},
                                                                            {7, {2, 1}},
                                                                            {8, {3, 1}},
                                                                            {9, {3, 1}}}));
}

TEST(Case, RC033_TheSecondCopyOfAHeadComesOverNvlink) {
  const std::string k_proj =
      tensor("k_proj", "[256, 3072]", "bf16", "mesh: {one: 1}, placements: [R], ranks: 0",
             "mesh: {head: 2, copy: 2}, placements: [S(0), R], ranks: 1-4");
  const Job apart = job_of(k_proj, nodes({1, 4}));
  const std::vector<Ids> low = {{0, 128, 0, 3072}};
  const std::vector<Ids> high = {{128, 256, 0, 3072}};
  EXPECT_EQ(boxes(apart, "k_proj", Side::kDestination),
            (std::map<Rank, std::vector<Ids>>{{1, low}, {2, low}, {3, high}, {4, high}}));
  EXPECT_EQ(totals(apart).bytes, 3145728);
  EXPECT_EQ(planned(apart).payload_bytes, 3145728u);
  EXPECT_EQ(planned(apart).network_bytes, 1572864u);
  EXPECT_EQ(planned(apart, "p2p").network_bytes, 3145728u) << "what is avoided";
  EXPECT_GE(planned(apart).nvlink_bytes, 1572864u);
  const Job together = job_of(k_proj, nodes({5}));
  EXPECT_EQ(planned(together).network_bytes, 0u);
  EXPECT_EQ(planned(together).nvlink_bytes, 3145728u);
}

// Two KV heads over eight ranks would be replicated; the gate follows the 64 query heads.
TEST(Case, RC034_GatesFollowTheQueryHeads) {
  const Job job =
      job_of(tensor("gate", "[64]", "bf16", "mesh: {one: 1}, placements: [R], ranks: 0",
                    "mesh: {tp: 8}, placements: [S(0)], ranks: 1-8") +
             tensor("k_proj", "[256, 16]", "bf16", "mesh: {one: 1}, placements: [R], ranks: 0",
                    "mesh: {head: 2, copy: 4}, placements: [S(0), R], ranks: 1-8"));
  for (const auto& [rank, length] : lengths(job, "gate", Side::kDestination))
    EXPECT_EQ(length, 8) << rank;
  for (const auto& [rank, length] : lengths(job, "k_proj", Side::kDestination))
    EXPECT_EQ(length, 128) << rank;
}

}  // namespace
}  // namespace transload::testing
