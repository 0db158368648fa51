// User cases: expert tables, redundant experts, and experts that an engine stores its own way.
#include <fmt/ranges.h>

#include <algorithm>

#include "tests/planner/job/cases.h"

namespace transload::testing {
namespace {

std::string table_of(const Ids& slots) {
  return fmt::format("experts: [{}]", fmt::join(slots, ", "));
}

// The table of a load balancer: eight experts, two on each of ranks 2-5 in turn, four redundant.
const Ids kBalanced = {0, 4, 1, 2, 4, 5, 3, 6, 0, 7, 1, 4};

std::string balanced_experts(const Ids& slots) {
  return tensor("experts", "[8, 16, 16]", "bf16", "mesh: {ep: 2}, placements: [S(0)], ranks: 0-1",
                "mesh: {ep: 4}, placements: [S(0)], ranks: 2-5, " + table_of(slots));
}

TEST(Case, RC035_SlotsFollowTheCurrentTable) {
  const Job job = job_of(balanced_experts(kBalanced));
  EXPECT_EQ(rows(job, "experts", Side::kDestination),
            (std::map<Rank, Ids>{{2, {0, 4, 1}}, {3, {2, 4, 5}}, {4, {3, 6, 0}}, {5, {7, 1, 4}}}));
  // An expert has 512 bytes; expert 4 is the second of rank 2 and the third of rank 5.
  const Layout& layout = layout_of(job, "experts", Side::kDestination);
  EXPECT_EQ(address(layout, 2, {4, 0, 0}), 512);
  EXPECT_EQ(address(layout, 5, {4, 0, 0}), 1024);
  EXPECT_EQ(totals(job).count, 12) << "one for each slot, neighbours not merged";
  EXPECT_EQ(totals(job).pairs, 8);
  EXPECT_EQ(totals(job).bytes, 6144);
  Ranks receivers;
  for (const Operation& op : operations(job))
    if (op.lo() == 4) receivers.push_back(op.destination);
  EXPECT_EQ(receivers, (Ranks{2, 3, 5}));
  Ids changed = kBalanced;
  std::swap(changed[1], changed[2]);  // within rank 2: the same experts in other slots
  EXPECT_EQ(address(layout_of(job_of(balanced_experts(changed)), "experts", Side::kDestination), 2,
                    {4, 0, 0}),
            1024);
  EXPECT_NE(make_plan(job).digest(), make_plan(job_of(balanced_experts(changed))).digest());
}

TEST(Case, RC036_AnExpertThatDoesNotExistIsNamedWithItsSlot) {
  const std::string message =
      refusal(tensor("experts", "[8, 4, 4]", "bf16", "mesh: {one: 1}, placements: [R], ranks: 0",
                     "mesh: {ep: 4}, placements: [S(0)], ranks: 1-4, " + table_of(range(0, 12))));
  // Slots 6, 7, 8 are those of the third rank of the mesh, rank 3 of the job.
  EXPECT_NE(message.find("job.yaml:5: tensors[0].destination.experts: physical slot 8 (rank 3, its "
                         "slot 2) holds expert 8; the tensor has experts 0 to 7"),
            std::string::npos)
      << message;
}

TEST(Case, RC037_RoundRobinPlacementTouchesEveryPair) {
  const auto experts = [](const std::string& destination) {
    return job_of(tensor("experts", "[16, 4, 4]", "bf16",
                         "mesh: {ep: 4}, placements: [S(0)], ranks: 0-3", destination));
  };
  const Job job = experts(
      "experts: {4: [0, 4, 8, 12], 5: [1, 5, 9, 13], 6: [2, 6, 10, 14], 7: [3, 7, 11, 15]}");
  EXPECT_EQ(rows(job, "experts", Side::kDestination).at(4), (Ids{0, 4, 8, 12}));
  EXPECT_EQ(totals(job).count, 16);
  EXPECT_EQ(totals(job).pairs, 16);
  // The same as a list that the mesh cuts, and by the rank of each expert.
  Ids list;
  std::string ranks;
  for (std::int64_t slot = 0; slot < 16; ++slot) {
    list.push_back(slot % 4 * 4 + slot / 4);
    ranks += fmt::format("{}{}", slot == 0 ? "" : ", ", 4 + slot % 4);
  }
  for (const std::string& form :
       {"mesh: {ep: 4}, placements: [S(0)], ranks: 4-7, " + table_of(list),
        "expert_to_rank: [" + ranks + "]"})
    EXPECT_EQ(rows(experts(form), "experts", Side::kDestination),
              rows(job, "experts", Side::kDestination))
        << form;
  EXPECT_EQ(totals(experts("mesh: {ep: 4}, placements: [S(0)], ranks: 4-7")).count, 4);
}

TEST(Case, RC039_RedundantExpertsDivideOverTheRanks) {
  const auto experts = [](std::int64_t redundant) {
    Ids slots = range(0, 256);
    const Ids copies = range(0, redundant);
    slots.insert(slots.end(), copies.begin(), copies.end());
    return tensor("w", "[256, 4, 4]", "bf16", "mesh: {one: 1}, placements: [R], ranks: 0",
                  "mesh: {ep: 5}, placements: [S(0)], ranks: 1-5, " + table_of(slots));
  };
  for (const auto& [rank, slots] : lengths(job_of(experts(64)), "w", Side::kDestination))
    EXPECT_EQ(slots, 64) << rank;
  const std::string message = refusal(experts(63));
  EXPECT_NE(message.find("319 slots (256 experts and 63 redundant ones) do not divide over 5 "
                         "ranks; the next number that does is 320"),
            std::string::npos)
      << message;
}

TEST(Case, RC040_ExpertNumbersAreGlobal) {
  const Job job =
      job_of(tensor("gate_up", "[512, 8, 4]", "bf16", "mesh: {one: 1}, placements: [R], ranks: 0",
                    "mesh: {ep: 8}, placements: [S(0)], ranks: 1-8"));
  const auto held = rows(job, "gate_up", Side::kDestination);
  EXPECT_EQ(held.at(2), range(64, 128));
  Ids all;
  for (const auto& [rank, experts] : held) all.insert(all.end(), experts.begin(), experts.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, range(0, 512)) << "every expert exactly once";
}

TEST(Case, RC041_ExpertTensorParallelShardsAreNotWhole) {
  const std::string destination = "mesh: {tp: 2}, placements: [S(1)], ranks: 4-5";
  const Job job =
      job_of(tensor("experts.w1", "[4, 512, 32]", "bf16",
                    "mesh: {ep: 2, etp: 2}, placements: [S(0), S(1)], ranks: 0-3", destination));
  for (const auto& [rank, held] : boxes(job, "experts.w1", Side::kSource)) {
    const Ids& box = held.at(0);
    EXPECT_EQ((Ids{box[1] - box[0], box[3] - box[2], box[5] - box[4]}), (Ids{2, 256, 32})) << rank;
  }
  for (const auto& [rank, held] : boxes(job, "experts.w1", Side::kDestination)) {
    const Ids& box = held.at(0);
    EXPECT_EQ((Ids{box[1] - box[0], box[3] - box[2], box[5] - box[4]}), (Ids{4, 256, 32})) << rank;
  }
  EXPECT_EQ(totals(job).count, 4);
  // Half of the columns taken for all of them: the rest has no holder, and nothing is written.
  const std::string message = refusal(tensor(
      "experts.w1", "[4, 512, 32]", "bf16",
      "boxes: {0: [[0, 2], [0, 256], [0, 32]], 2: [[2, 4], [0, 256], [0, 32]]}", destination));
  for (const char* word : {"tensor experts.w1", "rank 5", "256:512"})
    EXPECT_NE(message.find(word), std::string::npos) << message;
}

// One expert is (N, K) = (256, 256); the kernel keeps it as [K / 128, N, 128].
TEST(Case, RC045_ADestinationInAKernelsOwnOrder) {
  const Job job = job_of(tensor("experts", "[2, 256, 256]", "bf16",
                                "mesh: {ep: 2}, placements: [S(0)], ranks: 0-1",
                                "mesh: {one: 1}, placements: [R], ranks: 2, memory: {factors: "
                                "{2: [2, 128]}, strides: [65536, 128, 32768, 1]}"));
  const Layout& layout = layout_of(job, "experts", Side::kDestination);
  for (const std::int64_t expert : {0, 1})
    for (const std::int64_t n : {0, 1, 100, 255})
      for (const std::int64_t k : {0, 1, 127, 128, 255})
        EXPECT_EQ(address(layout, 2, {expert, n, k}),
                  2 * (expert * 65536 + k / 128 * 32768 + n * 128 + k % 128))
            << expert << " " << n << " " << k;
  const auto moves = operations(job);
  ASSERT_EQ(moves.size(), 2u);
  for (const Operation& op : moves) {
    EXPECT_EQ(op.source_runs, 1);
    EXPECT_EQ(op.destination_runs, 256 * 256 / 128) << "runs of 128 elements";
  }
  // Described densely, the same job lies elsewhere: nothing is reshaped by force.
  const Job dense = job_of(tensor("experts", "[2, 256, 256]", "bf16",
                                  "mesh: {ep: 2}, placements: [S(0)], ranks: 0-1",
                                  "mesh: {one: 1}, placements: [R], ranks: 2"));
  EXPECT_EQ(address(layout_of(dense, "experts", Side::kDestination), 2, {0, 0, 128}), 256);
}

}  // namespace
}  // namespace transload::testing
