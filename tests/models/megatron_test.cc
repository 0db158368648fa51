// Megatron's layout against an oracle written from its rules in words, golden layouts of published
// runs, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/megatron_oracle.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

MegatronOptions options_of(const Model& model, const ParallelSizes& sizes,
                           const PipelineLayout& layout) {
  return {.sizes = sizes, .stages = stages_of_counts(layout, sizes.pp, model.layers, 1, "source")};
}

void expect_oracle(const Model& model, const ParallelSizes& sizes, const PipelineLayout& layout,
                   const std::vector<Rank>& ranks) {
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded =
      shard_megatron(model, tensors, options_of(model, sizes, layout), ranks);
  const MegatronOracle oracle(model, tensors, sizes, layout, ranks);
  EXPECT_EQ(image_difference(image_of(tensors, sharded), oracle.image()), "")
      << model.name << " tp " << sizes.tp << " pp " << sizes.pp << " ep " << sizes.ep << " etp "
      << sizes.etp << " cp " << sizes.cp;
}

TEST(Megatron, AgreesWithTheOracle) {
  std::vector<Rank> scattered = first_ranks(24);
  for (Rank& rank : scattered) rank = 100 + rank * 7 % 24;  // 7 and 24 share no factor
  for (const Model& model : {tiny_deepseek(), without_mtp(tiny_deepseek()), tiny_qwen()})
    for (const std::int64_t tp : {1, 2, 4, 8})
      for (const std::int64_t cp : {1, 2})
        for (const std::int64_t pp : {1, 3})
          for (const std::int64_t ep : {1, 2})
            for (const std::int64_t etp : {1, 4}) {
              const ParallelSizes sizes{.tp = tp, .pp = pp, .ep = ep, .etp = etp, .cp = cp};
              const std::int64_t stage = 24 / pp;
              if (stage % (tp * cp) != 0 || stage % (ep * etp) != 0) continue;
              if (model.query_heads % tp != 0 || (cp > 1 && tp > 2)) continue;
              PipelineLayout layout(static_cast<std::size_t>(pp), 1);
              layout.front() = model.layers - (pp - 1);
              expect_oracle(model, sizes, layout, scattered);
              if (HasFailure()) return;
            }
}

TEST(Megatron, PartListsOfHybridModels) {
  for (const std::int64_t tp : {1, 2})
    for (const std::int64_t ep : {1, 2, 4}) {
      expect_oracle(hybrid_model(), {.tp = tp, .pp = 2, .ep = ep}, {2, 4}, first_ranks(8));
      if (HasFailure()) return;
    }
}

TEST(Megatron, OneKvHeadForAll) {
  for (const std::int64_t tp : {1, 2, 4})
    expect_oracle(tiny_qwen(1), {.tp = tp}, {3}, first_ranks(8));
  // 8 q heads, k and v of 2 rows each.
  const std::vector<LogicalTensor> tensors = logical_tensors(tiny_qwen(1));
  EXPECT_THAT(input_error([&] {
                shard_megatron(tiny_qwen(1), tensors, options_of(tiny_qwen(1), {.tp = 8}, {3}),
                               first_ranks(8));
              }),
              HasSubstr("source.parallel.tp: 8 does not divide the 20 rows of decoder.layers.0"));
}

TEST(Megatron, EmptyStagesAreAllowed) {
  expect_oracle(tiny_qwen(), {.tp = 1, .pp = 3}, {0, 3, 0}, first_ranks(6));
}

// Facts 3.3(a): Qwen3-235B, 4 groups of 16 heads and head size 128 (blocks of 2304 rows), tp 8:
// rank 2g holds q heads 0-8 of group g, rank 2g + 1 holds q 9-15, k and v.
TEST(Megatron, MoreRanksThanQueryGroupsCutWithinAGroup) {
  const Model model = without_mtp(load_library_model("qwen3-235b-a22b"));
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded =
      shard_megatron(model, tensors, options_of(model, {.tp = 8}, {94}), first_ranks(8));
  const auto boxes = [&](const std::string& name, Rank rank) {
    const Sharding& sharding = sharded.shardings.at(
        sharded.sharding_of.at(index_of(tensors, "model.layers.5.self_attn." + name + ".weight")));
    const auto found = sharding.boxes.find(rank);
    return found == sharding.boxes.end() ? std::vector<PlacedBox>{} : found->second;
  };
  const auto placed = [](std::int64_t low, std::int64_t high, std::int64_t offset_rows) {
    return std::vector<PlacedBox>{{{{low, high}, {0, 4096}}, offset_rows * 4096 * 2}};
  };
  for (Rank group = 0; group < 4; ++group) {
    const std::int64_t q = group * 2048;
    EXPECT_EQ(boxes("q_proj", 2 * group), placed(q, q + 1152, 0));
    EXPECT_EQ(boxes("q_proj", 2 * group + 1), placed(q + 1152, q + 2048, 0));
    EXPECT_TRUE(boxes("k_proj", 2 * group).empty());
    EXPECT_EQ(boxes("k_proj", 2 * group + 1), placed(group * 128, group * 128 + 128, 896));
    EXPECT_EQ(boxes("v_proj", 2 * group + 1), placed(group * 128, group * 128 + 128, 1024));
  }
}

TEST(Megatron, TiedEmbeddingsStandOnBothEnds) {
  Model model = tiny_qwen();
  model.tied_embeddings = true;
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_megatron(
      model, tensors, options_of(model, {.tp = 2, .pp = 3}, {1, 1, 1}), first_ranks(6));
  const Holdings holdings = holdings_of(tensors, sharded, "model.embed_tokens.weight");
  std::vector<Rank> ranks;
  for (const auto& [rank, box] : holdings) ranks.push_back(rank);
  EXPECT_EQ(ranks, (std::vector<Rank>{0, 1, 4, 5}));
  EXPECT_EQ(holdings.at(1), holdings.at(5));
}

TEST(Megatron, DeepSeekOn256Ranks) {
  const Model model = load_library_model("deepseek-v3");
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ParallelSizes sizes{.tp = 1, .pp = 16, .ep = 16};
  const ShardedModel sharded = shard_megatron(
      model, tensors, options_of(model, sizes, pipeline_layout(61, 16, 3, 2)), first_ranks(256));
  // Hundreds of shardings for 45 thousand tensors.
  EXPECT_LT(sharded.shardings.size(), 1000U);

  const auto holders = [&](const std::string& name) {
    std::vector<Rank> ranks;
    for (const auto& [rank, box] : holdings_of(tensors, sharded, name)) ranks.push_back(rank);
    return ranks;
  };
  const auto stage = [](Rank number) {
    std::vector<Rank> ranks = first_ranks(16);
    for (Rank& rank : ranks) rank += number * 16;
    return ranks;
  };
  std::vector<Rank> both_ends = stage(0);
  for (const Rank rank : stage(15)) both_ends.push_back(rank);  // the prediction layer's copy
  EXPECT_EQ(holders("model.embed_tokens.weight"), both_ends);
  EXPECT_EQ(holders("model.layers.2.mlp.up_proj.weight"), stage(0));
  EXPECT_EQ(holders("model.layers.3.self_attn.o_proj.weight"), stage(1));
  EXPECT_EQ(holders("model.layers.58.self_attn.o_proj.weight"), stage(14));
  EXPECT_EQ(holders("model.layers.59.self_attn.o_proj.weight"), stage(15));
  EXPECT_EQ(holders("model.norm.weight"), stage(15));
  EXPECT_EQ(holders("lm_head.weight"), stage(15));
  EXPECT_EQ(holders("model.layers.61.eh_proj.weight"), stage(15));
  EXPECT_EQ(holders("model.layers.3.mlp.experts.0.up_proj.weight"), std::vector<Rank>{16});
  EXPECT_EQ(holders("model.layers.3.mlp.experts.15.up_proj.weight"), std::vector<Rank>{16});
  EXPECT_EQ(holders("model.layers.3.mlp.experts.16.up_proj.weight"), std::vector<Rank>{17});
  EXPECT_EQ(holders("model.layers.60.mlp.experts.255.down_proj.weight"), std::vector<Rank>{255});
  EXPECT_EQ(holders("model.layers.61.mlp.experts.255.down_proj.weight"), std::vector<Rank>{255});
  // The copies inside the prediction layer are shared, not stored.
  std::vector<std::string> dropped;
  for (const std::uint32_t tensor : sharded.dropped) dropped.push_back(tensors[tensor].name);
  EXPECT_EQ(dropped, (std::vector<std::string>{"model.layers.61.embed_tokens.weight",
                                               "model.layers.61.shared_head.head.weight"}));
  const BufferRef fc1 =
      sharded.buffer_of.at(index_of(tensors, "model.layers.3.mlp.experts.17.up_proj.weight"));
  EXPECT_EQ(sharded.buffers.at(fc1.buffer).name, "decoder.layers.3.mlp.experts.linear_fc1.weight1");
}

// Facts 3.3(e), the column of Megatron with divisor 128: rows per rank at tp 2, 4, 8.
TEST(Megatron, PaddedVocabularies) {
  struct Row {
    std::int64_t vocabulary, tp2, tp4, tp8;
  };
  constexpr Row kRows[] = {{151936, 76032, 38016, 19072},  {248320, 124160, 62080, 31104},
                           {129280, 64640, 32384, 16256},  {163840, 81920, 40960, 20480},
                           {131072, 65536, 32768, 16384},  {151552, 75776, 37888, 18944},
                           {154880, 77440, 38784, 19456},  {128256, 64128, 32128, 16128},
                           {202048, 101120, 50560, 25344}, {201088, 100608, 50304, 25216},
                           {32000, 16000, 8064, 4096},     {200064, 100096, 50048, 25088},
                           {157184, 78592, 39296, 19712}};
  for (const Row& row : kRows) {
    HandModel hand("vocabulary");
    hand.model.layers = 1;
    hand.model.query_heads = hand.model.kv_heads = 8;
    hand.model.vocabulary = row.vocabulary;
    hand.add("embed", {row.vocabulary, 2}, ParameterKind::kEmbedding);
    const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
    for (const auto& [tp, rows] :
         {std::pair{std::int64_t{2}, row.tp2}, std::pair{std::int64_t{4}, row.tp4},
          std::pair{std::int64_t{8}, row.tp8}}) {
      MegatronOptions options = options_of(hand.model, {.tp = tp}, {1});
      const ShardedModel padded = shard_megatron(hand.model, tensors, options, first_ranks(tp));
      EXPECT_EQ(holdings_of(tensors, padded, "embed").at(0), (ExplicitBox{{0, rows}, {0, 2}}));
      const auto extent = padded.shardings[padded.sharding_of[0]].padded;
      if (rows * tp == row.vocabulary)
        EXPECT_TRUE(extent.empty());
      else
        EXPECT_EQ(extent.at(0), (PaddedExtent{rows * tp, PaddingFill::kZero}));
    }
    MegatronOptions off = options_of(hand.model, {.tp = 2}, {1});
    off.vocabulary_divisor = 0;
    EXPECT_EQ(
        holdings_of(tensors, shard_megatron(hand.model, tensors, off, first_ranks(2)), "embed")
            .at(1),
        (ExplicitBox{{row.vocabulary / 2, row.vocabulary}, {0, 2}}));
  }
}

TEST(Megatron, ZeroCentredNormNeedsConversion) {
  const Model model = hybrid_model();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded =
      shard_megatron(model, tensors, options_of(model, {}, {6}), first_ranks(1));
  ASSERT_EQ(sharded.conversions.size(), 1U);
  EXPECT_EQ(tensors[sharded.conversions[0].tensor].name, "model.layers.2.linear_attn.norm.weight");
  EXPECT_THAT(sharded.conversions[0].what, HasSubstr("minus 1"));
}

TEST(Megatron, WhatIsNotKnownIsNotGuessed) {
  const Model model = hybrid_model();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded =
      shard_megatron(model, tensors, options_of(model, {.etp = 2}, {6}), first_ranks(2));
  std::size_t biases = 0;
  for (const LogicalTensor& tensor : tensors)
    if (tensor.name.find("proj_bias/") != std::string::npos) ++biases;
  EXPECT_EQ(sharded.unknown.size(), biases);
  EXPECT_THAT(sharded.unknown.at(0).what, HasSubstr("how expert biases lie over etp is not known"));
}

struct BadSizes {
  ParallelSizes sizes;
  PipelineLayout layout;
  std::int64_t gpus;
  const char* message;
};

TEST(Megatron, RefusesWhatDoesNotFit) {
  const Model qwen = load_library_model("qwen3-30b-a3b");
  const std::vector<LogicalTensor> tensors = logical_tensors(qwen);
  const BadSizes bad[] = {
      {{.tp = 3}, {48}, 6, "source.parallel.tp: 3 does not divide 32 query heads of qwen3-30b-a3b"},
      {{.ep = 3}, {48}, 6, "source.parallel.ep: 3 does not divide 128 routed experts of qwen3"},
      {{.etp = 9}, {48}, 9, "source.parallel.etp: 9 does not divide 768 expert channels of qwen3"},
      {{.tp = 0}, {48}, 8, "source.parallel.tp: 0 is below 1"},
      {{.ep = -4}, {48}, 8, "source.parallel.ep: -4 is below 1"},
      {{.tp = 16}, {48}, 8, "source.parallel.tp: 16 is more than the 8 ranks of source.gpus"},
      {{.tp = INT64_MAX, .cp = INT64_MAX}, {48}, 8, "is more than the 8 ranks"},
      {{.pp = 3}, {16, 16, 16}, 8, "source.gpus: 8 ranks are not a multiple of pp = 3"},
      {{.tp = 4}, {48}, 6, "source.gpus: 6 ranks of a stage are not a multiple of tp 4 * cp 1 = 4"},
      {{.ep = 4, .etp = 2}, {48}, 4, "not a multiple of ep 4 * etp 2 = 8"},
      {{.tp = 2, .dp = 3}, {48}, 8, "source.parallel.dp: 3 does not fit: 8 ranks over pp 1 * tp 2"},
      {{.dp = -1}, {48}, 8, "source.parallel.dp: -1 is below 1"},
      {{}, {48}, 0, "source.gpus: no ranks"},
  };
  for (const BadSizes& row : bad) {
    const MegatronOptions options{
        .sizes = row.sizes, .stages = stages_of_counts(row.layout, row.sizes.pp, 48, 1, "source")};
    EXPECT_THAT(input_error([&] { shard_megatron(qwen, tensors, options, first_ranks(row.gpus)); }),
                HasSubstr(row.message));
  }
}

TEST(Megatron, RefusesCutsWithinHeads) {
  const auto refuse = [](const Model& model, const ParallelSizes& sizes, std::int64_t gpus) {
    const std::vector<LogicalTensor> tensors = logical_tensors(model);
    const MegatronOptions options{
        .sizes = sizes,
        .stages = stages_of_counts({model.layers}, 1, model.layers, 1, "destination")};
    return input_error(
        [&] { shard_megatron(model, tensors, options, first_ranks(gpus), "destination"); });
  };
  EXPECT_THAT(
      refuse(load_library_model("deepseek-v3"), {.tp = 3}, 3),
      HasSubstr("destination.parallel.tp: 3 does not divide 128 query heads of deepseek-v3"));
  Model narrow = small_deepseek();
  narrow.query_heads = 256;
  EXPECT_THAT(refuse(narrow, {.tp = 64}, 64),
              HasSubstr("64 does not divide 96 feed-forward channels"));
  // 48 query heads in 8 groups: 12 is above and no multiple of 8.
  Model groups = small_qwen();
  groups.query_heads = 48;
  groups.kv_heads = 8;
  EXPECT_THAT(refuse(groups, {.tp = 12}, 12),
              HasSubstr("12 is above and not a multiple of 8 KV heads"));
  // Mamba: tp divides heads and groups; delta nets: tp divides key heads.
  Model hybrid = hybrid_model();
  EXPECT_THAT(refuse(hybrid, {.tp = 4}, 4), HasSubstr("4 does not divide 2 Mamba groups"));
  hybrid.mamba_groups = 4;
  EXPECT_THAT(refuse(hybrid, {.tp = 4}, 4), HasSubstr("4 does not divide 2 delta-net key heads"));
}

TEST(Megatron, RefusesHeadsThatDoNotDivideTheirRows) {
  HandModel hand("odd");
  hand.model.layers = 1;
  hand.model.query_heads = 2;
  hand.model.kv_heads = 2;
  hand.add("layers.0.self_attn.q_proj.weight", {3, 2}, ParameterKind::kAttentionQ, 0);
  hand.add("layers.0.self_attn.k_proj.weight", {2, 2}, ParameterKind::kAttentionK, 0);
  const auto message = [](const Model& model) {
    const std::vector<LogicalTensor> tensors = logical_tensors(model);
    return input_error(
        [&] { shard_megatron(model, tensors, options_of(model, {}, {1}), first_ranks(1)); });
  };
  EXPECT_THAT(message(hand.model), HasSubstr("in 2 units, which do not divide their 3 rows"));
  hand.model.parameters[0].shape = {2, 3};
  EXPECT_THAT(message(hand.model), HasSubstr("differs in dtype or width"));
  hand.model.parameters[0].shape = {2, 2};
  hand.model.kv_heads = 0;
  EXPECT_THAT(message(hand.model), HasSubstr("in 0 units"));
  hand.model.kv_heads = 2;
  hand.add("layers.0.self_attn.other.weight", {2, 2}, ParameterKind::kAttentionK, 0);
  EXPECT_THAT(message(hand.model), HasSubstr("already has that place"));
}

TEST(Megatron, StagesStartOnLayersWithAnIndexer) {
  HandModel hand("sparse");
  hand.model.layers = 4;
  hand.model.query_heads = hand.model.kv_heads = 1;
  for (const std::int32_t layer : {0, 2})
    hand.add("layers." + std::to_string(layer) + ".self_attn.indexer.wk.weight", {2, 2},
             ParameterKind::kIndexer, layer);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  const auto message = [&](const PipelineLayout& layout) {
    return input_error([&] {
      shard_megatron(hand.model, tensors, options_of(hand.model, {.pp = 2}, layout),
                     first_ranks(2));
    });
  };
  EXPECT_EQ(message({2, 2}), "");
  EXPECT_THAT(message({1, 3}), HasSubstr("stage 1 starts with layer 1, which has no indexer"));
}

}  // namespace
}  // namespace transload
