// User cases: vocabularies, tensors of many dimensions, two-dimensional tiles, sizes beyond 32
// bits, matching ranks, partial values.
#include "tests/planner/job/cases.h"

namespace transload::testing {
namespace {

TEST(Case, RC051_AllRowsOfTheWeightsMove) {
  const std::string source = "mesh: {tp: 4}, placements: [S(0)], ranks: 0-3";
  const std::string destination = "mesh: {tp: 2}, placements: [S(0)], ranks: 4-5";
  const Job job = job_of(tensor("embed", "[152064, 16]", "bf16", source, destination));
  EXPECT_EQ(lengths(job, "embed", Side::kDestination),
            (std::map<Rank, std::int64_t>{{4, 76032}, {5, 76032}}));
  EXPECT_EQ(totals(job).bytes, std::int64_t{152064} * 16 * 2);
  // The tokenizer's 151665 is no extent of this tensor.
  EXPECT_EQ(refusal(tensor("embed", "[152064, 16]", "bf16", source,
                           destination + ", padded: {0: 151665}")),
            "tensor embed, destination: dimension 0 is padded to 151665, less than its length "
            "152064");
}

// NCCL M2N takes tensors of one to three dimensions. That the m2n strategy collapses this one comes
// with it (part 4); here: on both sides it is one run, as the 2-D tensor of the same bytes is.
TEST(Case, RC084_FiveDimensionsCollapseToTwo) {
  const auto patch_embed = [](const char* shape) {
    return job_of(tensor("patch_embed", shape, "bf16",
                         "mesh: {tp: 2}, placements: [S(0)], ranks: 0-1",
                         "mesh: {tp: 2}, placements: [R], ranks: 2-3"));
  };
  const Job five = patch_embed("[1280, 3, 2, 14, 14]");
  const Job two = patch_embed("[1280, 1176]");
  for (const Job& job : {five, two}) {
    const auto moves = operations(job);
    EXPECT_EQ(moves.size(), 4u);
    for (const Operation& op : moves) {
      EXPECT_EQ(op.hi() - op.lo(), 640);
      EXPECT_EQ(op.bytes, 640 * 1176 * 2);
      EXPECT_EQ(op.source_runs, 1);
      EXPECT_EQ(op.destination_runs, 1);
    }
  }
}

// Two sharded axes on one side are beyond NCCL M2N; its report comes with the m2n strategy (part
// 4). The layout is planned point to point.
TEST(Case, RC086_TilesOfTwoShardedAxes) {
  const Job job = job_of(tensor("w", "[8, 8]", "bf16",
                                "mesh: {a: 2, b: 2}, placements: [S(0), S(1)], ranks: 0-3",
                                "mesh: {tp: 4}, placements: [S(0)], ranks: 4-7"));
  const auto moves = operations(job);
  EXPECT_EQ(moves.size(), 8u);
  for (const Operation& op : moves) {
    EXPECT_EQ(op.box.extent(0), 2);
    EXPECT_EQ(op.box.extent(1), 4);
    EXPECT_EQ(op.source_runs, 1);
    EXPECT_EQ(op.destination_runs, 2);
  }
  EXPECT_EQ(planned(job, "p2p").payload_bytes, 128u);
}

// tests/property/size_limits_test.cc simulates plans of 2^31 to 2^32 + 1 bytes.
TEST(Case, RC087_SixteenGibibytesOf64BitSizes) {
  const Job job = job_of(tensor("w", "[131072, 131072]", "uint8",
                                "mesh: {r: 1, s: 4}, placements: [R, S(0)], ranks: 0-3",
                                "mesh: {r: 1, s: 4}, placements: [R, S(1)], ranks: 4-7"),
                         nodes({4, 4}));
  EXPECT_EQ(totals(job).count, 16);
  EXPECT_EQ(totals(job).bytes, 17179869184);
  for (const Side side : {Side::kSource, Side::kDestination})
    for (const RankStorage& storage : layout_of(job, "w", side).storage)
      EXPECT_EQ(storage.bytes, 4294967296) << storage.rank;
  for (const Operation& op : operations(job)) {
    EXPECT_EQ(op.bytes, std::int64_t{1} << 30);
    EXPECT_EQ(op.source_runs, 32768);
    EXPECT_EQ(op.destination_runs, 1);
  }
  const PlanTotals plan = planned(job);
  EXPECT_EQ(plan.payload_bytes, 17179869184u);
  EXPECT_EQ(plan.network_bytes, 17179869184u);
}

TEST(Case, RC088_MoreThan2To31Elements) {
  const Job job = job_of(tensor("embed_tokens_per_layer", "[262144, 8960]", "bf16",
                                "mesh: {tp: 8}, placements: [S(0)], ranks: 0-7",
                                "mesh: {tp: 4}, placements: [S(0)], ranks: 8-11"));
  const TensorGroup& group = group_of(job, "embed_tokens_per_layer");
  EXPECT_EQ(volume(whole_box(group.shape)), 2348810240);
  EXPECT_GT(volume(whole_box(group.shape)), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(totals(job).bytes, 4697620480);
  for (const RankStorage& storage :
       layout_of(job, "embed_tokens_per_layer", Side::kDestination).storage)
    EXPECT_EQ(storage.bytes, 1174405120) << storage.rank;
  EXPECT_EQ(planned(job).payload_bytes, 4697620480u);
}

TEST(Case, RC155_EveryRankSendsToItsCounterpart) {
  const std::string w =
      tensor("w", "[8, 4]", "bf16", "mesh: {tp: 2}, placements: [S(0)], ranks: 0-1",
             "mesh: {tp: 2}, placements: [S(0)], ranks: 2-3");
  const Job apart = job_of(w, nodes({2, 2}));
  const auto moves = operations(apart);
  ASSERT_EQ(moves.size(), 2u);
  for (const Operation& op : moves) EXPECT_EQ(op.destination, op.source + 2);
  EXPECT_EQ(totals(apart).bytes, 64);
  EXPECT_EQ(planned(apart).network_bytes, 64u);
  EXPECT_EQ(planned(apart).nvlink_bytes, 0u);
  const Job together = job_of(w, nodes({4}));
  EXPECT_EQ(planned(together).network_bytes, 0u);
  EXPECT_EQ(planned(together).nvlink_bytes, 64u);
}

// Sum over a and then maximum over b is 6, the other order 7: which one was meant nobody can know.
TEST(Case, RC195_PartialValuesAreRefused) {
  for (const char* placements :
       {"[P(sum), P(max)]", "[R, P(sum)]", "[P, R]", "[Partial(sum), R]"}) {
    const std::string message =
        refusal(tensor("w", "[4]", "fp32",
                       std::string("mesh: {a: 2, b: 2}, ranks: 0-3, placements: ") + placements,
                       "mesh: {one: 1}, placements: [R], ranks: 4"));
    EXPECT_NE(message.find("tensors[0].source.placements["), std::string::npos) << message;
    EXPECT_NE(message.find("is a partial value"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace transload::testing
