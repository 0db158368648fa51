// vLLM's layout against an oracle written from its rules in words, golden layouts, and what is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/engines.h"
#include "tests/models/inference_oracle.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

// The experts of each rank of an engine, dealt out one rank after the other.
std::vector<std::int64_t> dealt_experts(std::int64_t experts, std::int64_t ranks, std::int64_t rank,
                                        bool round_robin) {
  std::vector<std::int64_t> own;
  if (round_robin) {
    for (std::int64_t expert = rank; expert < experts; expert += ranks) own.push_back(expert);
    return own;
  }
  std::int64_t next = 0;
  for (std::int64_t other = 0; other <= rank; ++other) {
    const std::int64_t count = experts / ranks + (other < experts % ranks ? 1 : 0);
    for (std::int64_t i = 0; i < count; ++i, ++next)
      if (other == rank) own.push_back(next);
  }
  return own;
}

// Ranks of an engine are dp-pp-tp, tp fastest.
Image oracle(const Model& model, const std::vector<LogicalTensor>& tensors,
             const VllmOptions& options, std::int64_t dp, const PipelineLayout& layers,
             const std::vector<Rank>& ranks) {
  InferenceOracle result(model, tensors, {});
  const ParallelSizes& sizes = options.sizes;
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    const std::int64_t in_engine = static_cast<std::int64_t>(number) % (dp * sizes.pp * sizes.tp);
    const PartOf tp{in_engine % sizes.tp, sizes.tp};
    const std::int64_t stage = in_engine / sizes.tp % sizes.pp;
    const std::int64_t flat = in_engine / (sizes.tp * sizes.pp) * sizes.tp + tp.index;
    InferenceRank rank{
        ranks[number],         stage == 0, stage == sizes.pp - 1, {}, tp, tp, tp, tp, tp,
        {flat, dp * sizes.tp}, {}};
    std::int64_t first = 0;
    for (std::int64_t s = 0; s < stage; ++s) first += layers[static_cast<std::size_t>(s)];
    for (std::int64_t i = 0; i < layers[static_cast<std::size_t>(stage)]; ++i)
      rank.layers.push_back(first + i);
    if (options.sequence_parallel_moe) rank.shared = {};
    if (sizes.ep > 1) {
      rank.expert = {};
      rank.experts = dealt_experts(model.experts, dp * sizes.tp, flat, options.round_robin);
    } else {
      for (std::int64_t expert = 0; expert < model.experts; ++expert)
        rank.experts.push_back(expert);
    }
    if (model.mtp_layers > 0) rank.layers.push_back(model.layers);
    result.add(rank);
  }
  return result.image();
}

void expect_oracle(const Model& model, const VllmOptions& options, std::int64_t dp,
                   const PipelineLayout& layers, const std::vector<Rank>& ranks) {
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_vllm(model, tensors, options, ranks);
  EXPECT_EQ(image_difference(image_of(tensors, sharded),
                             oracle(model, tensors, options, dp, layers, ranks)),
            "")
      << model.name << " tp " << options.sizes.tp << " dp " << dp << " pp " << options.sizes.pp
      << " ep " << options.sizes.ep;
}

VllmOptions sized(const ParallelSizes& sizes) {
  VllmOptions options;
  options.sizes = sizes;
  return options;
}

TEST(Vllm, AgreesWithTheOracle) {
  std::vector<Rank> scattered = first_ranks(16);
  for (Rank& rank : scattered) rank = 5 + rank * 9 % 16;  // 9 and 16 share no factor
  for (const Model& model : {tiny_deepseek(), without_mtp(tiny_deepseek()), tiny_qwen()})
    for (const std::int64_t tp : {1, 2, 4, 8})
      for (const std::int64_t dp : {1, 2})
        for (const std::int64_t ep : {std::int64_t{1}, tp * dp}) {
          if (model.query_heads % tp != 0) continue;
          if (ep == 1 && 8 % (tp * dp) != 0) continue;  // 8 channels of an expert
          expect_oracle(model, sized({.tp = tp, .ep = ep, .dp = dp}), dp, {model.layers},
                        scattered);
          if (HasFailure()) return;
        }
  // dp follows from ep; more ranks than experts: some hold none.
  expect_oracle(tiny_qwen(), sized({.tp = 2, .ep = 8}), 4, {3}, scattered);
  expect_oracle(tiny_qwen(), sized({.tp = 2, .ep = 16}), 8, {3}, scattered);
  expect_oracle(tiny_qwen(1), sized({.tp = 8}), 1, {3}, scattered);
  VllmOptions round_robin = sized({.tp = 2, .ep = 4});
  round_robin.round_robin = true;
  expect_oracle(tiny_qwen(), round_robin, 2, {3}, scattered);
  VllmOptions sequence_parallel = sized({.tp = 2, .ep = 4});
  sequence_parallel.sequence_parallel_moe = true;
  expect_oracle(without_mtp(tiny_deepseek()), sequence_parallel, 2, {3}, scattered);
}

TEST(Vllm, PipelineStages) {
  // Three layers over two stages: the second-last stage has one more.
  expect_oracle(tiny_qwen(), sized({.tp = 2, .pp = 2}), 1, {2, 1}, first_ranks(8));
  expect_oracle(tiny_qwen(), sized({.tp = 2, .pp = 2, .ep = 4}), 2, {2, 1}, first_ranks(8));
  VllmOptions explicit_layers = sized({.tp = 1, .pp = 2});
  explicit_layers.layers = {1, 2};
  expect_oracle(tiny_qwen(), explicit_layers, 1, {1, 2}, first_ranks(4));
  const std::vector<LogicalTensor> tensors = logical_tensors(tiny_deepseek());
  const ShardedModel mtp = shard_vllm(tiny_deepseek(), tensors, sized({.pp = 2}), first_ranks(2));
  ASSERT_FALSE(mtp.unknown.empty());
  EXPECT_THAT(mtp.unknown[0].what, HasSubstr("prediction layers under pipeline parallelism"));
}

TEST(Vllm, HybridModels) {
  for (const std::int64_t tp : {1, 2})
    for (const std::int64_t ep : {std::int64_t{1}, tp * 2}) {
      expect_oracle(hybrid_model(), sized({.tp = tp, .ep = ep, .dp = 2}), 2, {6}, first_ranks(8));
      if (HasFailure()) return;
    }
  // A single Mamba group is held by every rank; four ranks share two KV heads.
  Model single = hybrid_model();
  single.mamba_groups = 1;
  single.gdn_key_heads = 4;
  expect_oracle(single, sized({.tp = 4}), 1, {6}, first_ranks(4));
}

TEST(Vllm, TiedEmbeddingsStandOnBothEnds) {
  Model model = tiny_qwen();
  model.tied_embeddings = true;
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const auto holders = [&](std::int64_t pp) {
    const ShardedModel sharded = shard_vllm(model, tensors, sized({.pp = pp}), first_ranks(pp));
    std::vector<Rank> ranks;
    for (const auto& [rank, box] : holdings_of(tensors, sharded, "model.embed_tokens.weight"))
      ranks.push_back(rank);
    return ranks;
  };
  EXPECT_EQ(holders(1), std::vector<Rank>{0});
  EXPECT_EQ(holders(3), (std::vector<Rank>{0, 2}));
}

// A table with redundant experts: 6 experts in 8 slots over 4 ranks.
TEST(Vllm, ExpertTables) {
  const Model model = tiny_qwen();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  VllmOptions options = sized({.tp = 2, .ep = 4});
  options.experts.all_layers = {0, 4, 1, 2, 4, 5, 3, 0};
  options.experts.of_layer[1] = {0, 1, 2, 3, 4, 5, 1, 0};
  const ShardedModel sharded = shard_vllm(model, tensors, options, first_ranks(8));
  const Image image = image_of(tensors, sharded);
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    const std::vector<std::int64_t>& table =
        layer == 1 ? options.experts.of_layer[1] : options.experts.all_layers;
    const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    for (Rank rank = 0; rank < 8; ++rank) {
      Oracle oracle(tensors);
      for (std::size_t slot = 0; slot < 2; ++slot) {
        const std::string expert =
            prefix + std::to_string(table[static_cast<std::size_t>(rank % 4) * 2 + slot]);
        oracle.whole(rank, prefix + "w13_weight", expert + ".gate_proj.weight");
        oracle.whole(rank, prefix + "w13_weight", expert + ".up_proj.weight");
      }
      const auto key = std::pair{rank, prefix + "w13_weight"};
      EXPECT_EQ(image.at(key), oracle.image().at(key)) << prefix << rank;
    }
  }
}

TEST(Vllm, RefusesTablesThatCannotBe) {
  const Model model = tiny_qwen();
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const auto message = [&](const std::vector<std::int64_t>& table, std::int64_t ep) {
    VllmOptions options = sized({.tp = 2, .ep = ep});
    options.experts.all_layers = table;
    return input_error([&] { shard_vllm(model, tensors, options, first_ranks(4)); });
  };
  EXPECT_THAT(message({0, 1, 2, 3, 4, 5, 6, 0}, 4),
              HasSubstr("destination.expert_table: physical slot 6 (rank 3, its slot 0) holds "
                        "expert 6; the model has 6 experts"));
  EXPECT_THAT(message({0, 1, 2, 3, 4, 0, 1, 2}, 4), HasSubstr("no physical slot holds expert 5"));
  EXPECT_THAT(message({0, 1, 2, 3, 4, 5, 0}, 4),
              HasSubstr("7 physical slots (6 experts and 1 redundant ones) do not divide over 4"));
  EXPECT_THAT(message({0, 0, 1, 2, 3, 4, 5, 1}, 4),
              HasSubstr("expert 0 stands twice on rank 0 (slots 0 and 1)"));
  EXPECT_THAT(message({0, 1, 2, 3, 4, 5}, 1), HasSubstr("only where ep is above 1"));
}

TEST(Vllm, DeepSeekOnEightEnginesOf32) {
  const Model model = without_mtp(load_library_model("deepseek-v3"));
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_vllm(model, tensors, sized({.tp = 32}), first_ranks(256));
  EXPECT_LT(sharded.shardings.size(), 20U);
  const auto check = [&](const std::string& name, Rank rank, const ExplicitBox& box) {
    const Holdings holdings = holdings_of(tensors, sharded, name);
    EXPECT_EQ(holdings.size(), 256U);
    EXPECT_EQ(holdings.at(rank), box) << name;
    EXPECT_EQ(holdings.at((rank + 32) % 256), box) << name;
  };
  check("model.embed_tokens.weight", 33, {{4040, 8080}, {0, 7168}});
  check("model.layers.0.self_attn.q_b_proj.weight", 255, {{23808, 24576}, {0, 1536}});
  check("model.layers.0.self_attn.kv_b_proj.weight", 1, {{1024, 2048}, {0, 512}});
  check("model.layers.0.self_attn.q_a_proj.weight", 17, {{0, 1536}, {0, 7168}});
  check("model.layers.0.mlp.down_proj.weight", 2, {{0, 7168}, {1152, 1728}});
  check("model.layers.3.mlp.experts.255.down_proj.weight", 31, {{0, 7168}, {1984, 2048}});
  check("model.layers.3.mlp.experts.255.up_proj.weight", 64, {{0, 64}, {0, 7168}});
  // kv_b of every layer is absorbed, so its destination is a shadow buffer.
  EXPECT_EQ(sharded.conversions.size(), 61U);
  for (const Conversion& conversion : sharded.conversions) {
    EXPECT_EQ(tensors[conversion.tensor].kind, ParameterKind::kMlaKvUp);
    EXPECT_EQ(sharded.buffers.at(sharded.buffer_of[conversion.tensor].buffer).destination_class,
              DestinationClass::kShadow);
  }
}

TEST(Vllm, QwenReplicatesKvHeadsAboveFour) {
  const Model model = load_library_model("qwen3-30b-a3b");
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded = shard_vllm(model, tensors, sized({.tp = 8}), first_ranks(16));
  const Holdings keys = holdings_of(tensors, sharded, "model.layers.5.self_attn.k_proj.weight");
  for (Rank rank = 0; rank < 16; ++rank) {
    const std::int64_t head = rank % 8 / 2;
    EXPECT_EQ(keys.at(rank), (ExplicitBox{{head * 128, head * 128 + 128}, {0, 2048}})) << rank;
  }
  const Holdings queries = holdings_of(tensors, sharded, "model.layers.5.self_attn.q_proj.weight");
  EXPECT_EQ(queries.at(15), (ExplicitBox{{3584, 4096}, {0, 2048}}));
}

TEST(Vllm, KimiDealsSpareExpertsToTheFirstRanks) {
  const Model model = load_library_model("kimi-k2");
  const std::vector<LogicalTensor> tensors = logical_tensors(model);
  const ShardedModel sharded =
      shard_vllm(model, tensors, sized({.tp = 16, .ep = 256}), first_ranks(512));
  EXPECT_LT(sharded.shardings.size(), 1100U);
  std::vector<int> experts(512, 0);
  for (std::int64_t expert = 0; expert < 384; ++expert) {
    const Holdings holdings =
        holdings_of(tensors, sharded,
                    "model.layers.9.mlp.experts." + std::to_string(expert) + ".up_proj.weight");
    ASSERT_EQ(holdings.size(), 2U);  // one per replica
    for (const auto& [rank, box] : holdings) {
      ++experts[static_cast<std::size_t>(rank)];
      EXPECT_EQ(box, (ExplicitBox{{0, 2048}, {0, 7168}}));
      const Rank in_engine = rank % 256;
      EXPECT_EQ(in_engine, expert < 256 ? expert / 2 : 128 + (expert - 256));
    }
  }
  for (std::size_t rank = 0; rank < 512; ++rank)
    EXPECT_EQ(experts[rank], rank % 256 < 128 ? 2 : 1) << rank;
}

TEST(Vllm, IndexerKeepsTwoOfItsWeightsTogether) {
  HandModel hand("sparse");
  hand.model.layers = 1;
  hand.model.query_heads = hand.model.kv_heads = 1;
  const std::string prefix = "model.layers.0.self_attn.indexer.";
  hand.add(prefix + "wq_b.weight", {4, 2}, ParameterKind::kIndexer, 0);
  hand.add(prefix + "wk.weight", {2, 3}, ParameterKind::kIndexer, 0);
  hand.add(prefix + "k_norm.bias", {2}, ParameterKind::kIndexer, 0);
  hand.add(prefix + "weights_proj.weight", {1, 3}, ParameterKind::kIndexer, 0);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  Oracle oracle(tensors);
  oracle.whole(0, prefix + "wq_b.weight");
  oracle.whole(0, prefix + "k_norm.bias");
  oracle.whole(0, prefix + "wk_weights_proj.weight", prefix + "wk.weight");
  oracle.whole(0, prefix + "wk_weights_proj.weight", prefix + "weights_proj.weight");
  const ShardedModel sharded = shard_vllm(hand.model, tensors, sized({}), first_ranks(1));
  EXPECT_EQ(image_difference(image_of(tensors, sharded), oracle.image()), "");
  EXPECT_TRUE(sharded.conversions.empty());
}

TEST(Vllm, WhatIsNotKnownIsNotGuessed) {
  HandModel hand("k3");
  hand.model.layers = 1;
  hand.model.query_heads = hand.model.kv_heads = 2;
  hand.add("model.layers.0.self_attn.g_proj.weight", {4, 2}, ParameterKind::kKdaRows, 0);
  hand.add("model.norm.weight", {4}, ParameterKind::kNorm);
  std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  ShardedModel sharded = shard_vllm(hand.model, tensors, sized({.tp = 2}), first_ranks(2));
  ASSERT_EQ(sharded.unknown.size(), 1U);
  EXPECT_THAT(sharded.unknown[0].what, HasSubstr("how vllm lays out parameters of its kind"));
  hand.add("layers.0.attn.wo_b.weight", {4, 4}, ParameterKind::kGroupedOutUp, 0);
  tensors = logical_tensors(hand.model);
  sharded = shard_vllm(hand.model, tensors, sized({.tp = 2}), first_ranks(2));
  EXPECT_EQ(sharded.unknown.size(), 3U);
  EXPECT_THAT(sharded.unknown[1].what, HasSubstr("how vllm lays out DeepSeek-V4 is not known"));
}

// With tp 1 there is nothing to cut: every rank holds the whole tensor, only its storage is
// unknown.
TEST(Vllm, WhatIsWholeOnEveryRankNeedsNoRule) {
  HandModel hand("k3");
  hand.model.layers = 1;
  hand.model.query_heads = hand.model.kv_heads = 1;
  hand.add("model.layers.0.self_attn.g_proj.weight", {4, 2}, ParameterKind::kKdaRows, 0);
  const std::vector<LogicalTensor> tensors = logical_tensors(hand.model);
  const ShardedModel sharded = shard_vllm(hand.model, tensors, sized({.dp = 2}), first_ranks(2));
  EXPECT_TRUE(sharded.unknown.empty());
  ASSERT_EQ(sharded.conversions.size(), 1U);
  EXPECT_THAT(sharded.conversions[0].what, HasSubstr("how vllm stores it is not known"));
  const Sharding& sharding = sharded.shardings[sharded.sharding_of[0]];
  EXPECT_EQ(sharding.ranks.size(), 2U);
  for (const AxisPlacement& placement : sharding.placements) EXPECT_FALSE(placement.shards());
  // Of a source the storage matters.
  EXPECT_EQ(
      shard_vllm(hand.model, tensors, sized({.dp = 2}), first_ranks(2), "source").unknown.size(),
      1U);
}

struct BadSizes {
  ParallelSizes sizes;
  std::int64_t gpus;
  const char* message;
};

TEST(Vllm, RefusesWhatDoesNotFit) {
  const Model qwen = load_library_model("qwen3-30b-a3b");
  const std::vector<LogicalTensor> tensors = logical_tensors(qwen);
  const BadSizes bad[] = {
      {{.tp = 3}, 3, "destination.parallel.tp: 3 does not divide 32 query heads of qwen3-30b-a3b"},
      {{.tp = 4, .ep = 2}, 8, "destination.parallel.ep: vllm spreads experts over a whole engine"},
      {{.tp = 4, .ep = 6}, 8, "expected 1 or tp 4 * dp 1 = 4, found 6"},
      {{.tp = 4, .ep = 4, .dp = 2}, 8, "expected 1 or tp 4 * dp 2 = 8, found 4"},
      {{.tp = 4}, 6, "destination.gpus: 6 ranks are not a multiple of the 4 ranks of an engine"},
      {{.tp = 2, .dp = 8}, 8, "8 ranks are not a multiple of the 16 ranks of an engine"},
      {{.tp = 4, .pp = 4}, 8, "8 ranks are not a multiple of the 16 ranks of an engine"},
      {{.tp = 16}, 8, "destination.parallel.tp: 16 is more than the 8 ranks"},
      {{.tp = -1}, 8, "destination.parallel.tp: -1 is below 1"},
      {{.tp = 4, .dp = -2}, 8, "destination.parallel.dp: -2 is below 1"},
      {{.etp = 2}, 8, "destination.parallel.etp: vllm has no etp"},
      {{.cp = 2}, 8, "destination.parallel.cp: vllm has no cp"},
      {{}, 0, "destination.gpus: no ranks"},
  };
  for (const BadSizes& row : bad)
    EXPECT_THAT(
        input_error([&] { shard_vllm(qwen, tensors, sized(row.sizes), first_ranks(row.gpus)); }),
        HasSubstr(row.message));
}

TEST(Vllm, NamesTheFigureThatDoesNotFit) {
  const auto message = [](const Model& model, const ParallelSizes& sizes, std::int64_t gpus) {
    const std::vector<LogicalTensor> tensors = logical_tensors(model);
    return input_error(
        [&] { shard_vllm(model, tensors, sized(sizes), first_ranks(gpus), "destination[1]"); });
  };
  Model model = small_qwen();
  model.query_heads = 48;
  model.kv_heads = 4;
  EXPECT_THAT(message(model, {.tp = 6}, 6),
              HasSubstr("destination[1].parallel.tp: 6 is above and not a multiple of 4 KV heads"));
  model.kv_heads = 8;
  EXPECT_THAT(message(model, {.tp = 6}, 6), HasSubstr("6 does not divide 8 KV heads"));
  // 48 expert channels do not divide by 32; whole experts do not mind.
  model.query_heads = 32;
  EXPECT_THAT(message(model, {.tp = 32}, 32), HasSubstr("32 does not divide 48 expert channels"));
  EXPECT_EQ(message(model, {.tp = 32, .ep = 32}, 32), "");
  // 1000 rows padded to 1024 = 2 ^ 10.
  model.query_heads = 48;
  model.kv_heads = 3;
  EXPECT_THAT(message(model, {.tp = 3, .ep = 3}, 3),
              HasSubstr("3 does not divide 1000 vocabulary rows of small-qwen, padded to 1024"));
}

}  // namespace
}  // namespace transload
