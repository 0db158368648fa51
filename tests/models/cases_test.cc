// Layout bugs that others shipped, as numbered in the collection of real-world cases: each engine's
// rules give the layout that was right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/engines.h"
#include "tests/models/oracle.h"

namespace transload {
namespace {

using enum ParameterKind;
using ::testing::HasSubstr;

HandModel one_layer() {
  HandModel hand("case");
  hand.model.layers = 1;
  hand.model.query_heads = hand.model.kv_heads = 1;
  return hand;
}

MegatronOptions megatron(const ParallelSizes& sizes) {
  return {.sizes = sizes, .stages = stages_of_counts({1}, 1, 1, 1, "source")};
}

VllmOptions vllm(const ParallelSizes& sizes) {
  VllmOptions options;
  options.sizes = sizes;
  return options;
}

// Local rows per rank and tensor of one buffer, from the boxes of a plain cut.
std::int64_t box_rows(const Sharding& sharding, Rank rank) {
  const auto found = sharding.boxes.find(rank);
  std::int64_t rows = 0;
  if (found == sharding.boxes.end()) return 0;
  for (const PlacedBox& placed : found->second) rows += placed.box[0][1] - placed.box[0][0];
  return rows;
}

TEST(Cases, RC021FewerKvHeadsThanRanksAreCutByRows) {
  HandModel hand = one_layer();
  hand.model.query_heads = 64;
  hand.model.kv_heads = 2;
  hand.add("layers.0.self_attn.q_proj.weight", {8192, 64}, kAttentionQ, 0);
  hand.add("layers.0.self_attn.k_proj.weight", {256, 64}, kAttentionK, 0);
  hand.add("layers.0.self_attn.v_proj.weight", {256, 64}, kAttentionV, 0);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  const ShardedModel source =
      shard_megatron(hand.model, tensors, megatron({.tp = 8}), first_ranks(8));
  for (Rank rank = 0; rank < 8; ++rank) {
    const bool tail = rank == 3 || rank == 7;
    EXPECT_EQ(box_rows(source.shardings[source.sharding_of[0]], rank), tail ? 832 : 1088) << rank;
    EXPECT_EQ(box_rows(source.shardings[source.sharding_of[1]], rank), tail ? 128 : 0) << rank;
    EXPECT_EQ(box_rows(source.shardings[source.sharding_of[2]], rank), tail ? 128 : 0) << rank;
  }
  // Rank 7's k follows its 832 rows of q.
  EXPECT_EQ(source.shardings[source.sharding_of[1]].boxes.at(7).at(0),
            (PlacedBox{{{128, 256}, {0, 64}}, 832 * 64 * 2}));
  const ShardedModel destination = shard_vllm(hand.model, tensors, vllm({.tp = 4}), first_ranks(4));
  const Holdings keys = holdings_of(tensors, destination, "layers.0.self_attn.k_proj.weight");
  for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(keys.at(rank)[0][0], rank < 2 ? 0 : 128) << rank;
}

// The buffer of each rank as rows of the fused parameter, counted through its parts.
std::vector<std::int64_t> fused_rows(const Image& image, Rank rank, const std::string& buffer,
                                     const std::vector<LogicalTensor>& tensors) {
  std::vector<std::int64_t> first = {0};
  for (const LogicalTensor& tensor : tensors) first.push_back(first.back() + tensor.shape[0]);
  std::vector<std::int64_t> rows;
  for (const StoredElement& element : image.at({rank, buffer})) {
    const auto tensor = static_cast<std::size_t>(element.tensor);
    const std::int64_t width = tensors[tensor].shape.at(1);
    if (element.index % width == 0) rows.push_back(first[tensor] + element.index / width);
  }
  return rows;
}

TEST(Cases, RC024DeltaNetPartsAreCutOnTheirOwn) {
  HandModel hand = one_layer();
  hand.model.gdn_key_heads = 2;
  hand.model.gdn_value_heads = 2;
  hand.add("layers.0.linear_attn.in_proj.weight", {28, 16}, kGdnQ, 0, -1,
           hand.fusion({.pieces = {{"q", kGdnQ, 4},
                                   {"k", kGdnK, 4},
                                   {"v", kGdnV, 8},
                                   {"z", kGdnZ, 8},
                                   {"b", kGdnB, 2},
                                   {"a", kGdnA, 2}}}));
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  const Image image =
      image_of(tensors, shard_megatron(hand.model, tensors, megatron({.tp = 2}), first_ranks(2)));
  EXPECT_EQ(fused_rows(image, 0, "decoder.layers.0.self_attention.in_proj.weight", tensors),
            (std::vector<std::int64_t>{0, 1, 4, 5, 8, 9, 10, 11, 16, 17, 18, 19, 24, 26}));
}

TEST(Cases, RC030MambaInProjection) {
  HandModel hand = one_layer();
  hand.model.mamba_heads = 128;
  hand.model.mamba_groups = 8;
  hand.add("layers.0.mixer.in_proj.weight", {18560, 2}, kMambaZ, 0, -1,
           hand.fusion({.pieces = {{"z", kMambaZ, 8192},
                                   {"x", kMambaX, 8192},
                                   {"B", kMambaB, 1024},
                                   {"C", kMambaC, 1024},
                                   {"dt", kMambaDt, 128}}}));
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  const Image image =
      image_of(tensors, shard_vllm(hand.model, tensors, vllm({.tp = 4}), first_ranks(4)));
  const std::vector<std::int64_t> rows =
      fused_rows(image, 0, "layers.0.mixer.in_proj.weight", tensors);
  ASSERT_EQ(rows.size(), 4640U);
  EXPECT_EQ(rows[0], 0);
  EXPECT_EQ(rows[2047], 2047);
  EXPECT_EQ(rows[2048], 8192);
  EXPECT_EQ(rows[4096], 16384);
  EXPECT_EQ(rows[4352], 17408);
  EXPECT_EQ(rows[4608], 18432);
  EXPECT_EQ(rows[4639], 18463);
}

TEST(Cases, RC031AndRC032KeyNormsFollowTheirHeads) {
  for (const auto& [heads, tp] : {std::pair{8, 16}, std::pair{4, 8}}) {
    HandModel hand = one_layer();
    hand.model.query_heads = 16;
    hand.model.kv_heads = heads;
    hand.add("layers.0.self_attn.k_norm.weight", {heads * 128}, kKeyNormFull, 0);
    const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
    const ShardedModel sharded = shard_vllm(hand.model, tensors, vllm({.tp = tp}), first_ranks(tp));
    const Holdings holdings = holdings_of(tensors, sharded, tensors[0].name);
    for (Rank rank = 0; rank < tp; ++rank)
      EXPECT_EQ(holdings.at(rank), (ExplicitBox{{rank / 2 * 128, rank / 2 * 128 + 128}})) << rank;
  }
}

TEST(Cases, RC033KvHeadsAreReplicated) {
  HandModel hand = one_layer();
  hand.model.query_heads = 24;
  hand.model.kv_heads = 2;
  hand.add("layers.0.self_attn.k_proj.weight", {256, 3072}, kAttentionK, 0);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  const ShardedModel sharded = shard_vllm(hand.model, tensors, vllm({.tp = 4}), first_ranks(4));
  const Holdings holdings = holdings_of(tensors, sharded, tensors[0].name);
  EXPECT_EQ(holdings.at(1), (ExplicitBox{{0, 128}, {0, 3072}}));
  EXPECT_EQ(holdings.at(2), (ExplicitBox{{128, 256}, {0, 3072}}));
}

TEST(Cases, RC034GatesFollowQueryHeads) {
  HandModel hand = one_layer();
  hand.model.query_heads = 64;
  hand.model.kv_heads = 2;
  hand.add("layers.0.self_attn.sinks", {64}, kSinks, 0);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  const ShardedModel sharded = shard_vllm(hand.model, tensors, vllm({.tp = 8}), first_ranks(8));
  EXPECT_EQ(holdings_of(tensors, sharded, tensors[0].name).at(3), (ExplicitBox{{24, 32}}));
}

// `experts` experts of two channels.
HandModel with_experts(std::int64_t experts) {
  HandModel hand = one_layer();
  hand.model.experts = experts;
  for (std::int64_t expert = 0; expert < experts; ++expert)
    hand.add("layers.0.mlp.experts." + std::to_string(expert) + ".up_proj.weight", {2, 3},
             kExpertUp, 0, static_cast<std::int32_t>(expert));
  return hand;
}

std::vector<Rank> holders_of(const std::vector<LogicalTensor>& tensors, const ShardedModel& sharded,
                             std::size_t expert) {
  std::vector<Rank> ranks = sharded.shardings.at(sharded.sharding_of.at(expert)).ranks;
  EXPECT_LT(expert, tensors.size());
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

TEST(Cases, RC035TheTableSaysWhereExpertsAre) {
  const HandModel hand = with_experts(8);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  VllmOptions options = vllm({.ep = 4});
  options.experts.all_layers = {0, 4, 1, 2, 4, 5, 3, 6, 0, 7, 1, 4};
  const std::vector<Rank> ranks = {2, 3, 4, 5};
  const ShardedModel sharded = shard_vllm(hand.model, tensors, options, ranks);
  EXPECT_EQ(holders_of(tensors, sharded, 4), (std::vector<Rank>{2, 3, 5}));
  std::size_t slots = 0;
  for (std::size_t expert = 0; expert < 8; ++expert)
    slots += holders_of(tensors, sharded, expert).size();
  EXPECT_EQ(slots, 12U);
}

TEST(Cases, RC036AndRC039TablesThatCannotBe) {
  const HandModel eight = with_experts(8);
  const std::vector<LogicalTensor> tensors = logical_tensors(eight.model);
  VllmOptions options = vllm({.ep = 4});
  options.experts.all_layers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_THAT(
      input_error([&] { shard_vllm(eight.model, tensors, options, first_ranks(4)); }),
      HasSubstr("physical slot 8 (rank 2, its slot 2) holds expert 8; the model has 8 experts"));
  const HandModel many = with_experts(256);
  const std::vector<LogicalTensor> all = logical_tensors(many.model);
  VllmOptions five = vllm({.ep = 5});
  for (std::int64_t slot = 0; slot < 256 + 64; ++slot)
    five.experts.all_layers.push_back(slot % 256);
  EXPECT_EQ(input_error([&] { shard_vllm(many.model, all, five, first_ranks(5)); }), "");
  five.experts.all_layers.pop_back();
  EXPECT_THAT(input_error([&] { shard_vllm(many.model, all, five, first_ranks(5)); }),
              HasSubstr("319 physical slots (256 experts and 63 redundant ones) do not divide"));
}

TEST(Cases, RC037RoundRobin) {
  const HandModel hand = with_experts(16);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  VllmOptions options = vllm({.ep = 4});
  options.round_robin = true;
  const ShardedModel sharded = shard_vllm(hand.model, tensors, options, first_ranks(4));
  for (std::size_t expert = 0; expert < 16; ++expert) {
    EXPECT_EQ(holders_of(tensors, sharded, expert),
              std::vector<Rank>{static_cast<Rank>(expert % 4)});
    EXPECT_EQ(sharded.buffer_of[expert].slot, expert / 4);
  }
}

TEST(Cases, RC040LocalExpertNumbersAreNotGlobalOnes) {
  const HandModel hand = with_experts(512);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  const ShardedModel sharded =
      shard_megatron(hand.model, tensors, megatron({.ep = 8}), first_ranks(8));
  for (std::size_t expert = 0; expert < 512; ++expert)
    EXPECT_EQ(holders_of(tensors, sharded, expert),
              std::vector<Rank>{static_cast<Rank>(expert / 64)});
}

}  // namespace
}  // namespace transload
