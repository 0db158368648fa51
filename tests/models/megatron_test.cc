// Megatron's layout against a slow oracle, golden layouts of published runs, and bad sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/engines.h"
#include "tests/models/holdings.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

// Stage of a parameter by its name alone, apart from the code under test.
std::int64_t oracle_stage(const Parameter& parameter, const PipelineLayout& layout,
                          std::int64_t layers) {
  const auto last = static_cast<std::int64_t>(layout.size()) - 1;
  if (parameter.name == "model.embed_tokens.weight") return 0;
  if (parameter.layer < 0 || parameter.layer >= layers) return last;
  std::int64_t stage = 0;
  std::int64_t end = layout[0];
  while (parameter.layer >= end) end += layout[static_cast<std::size_t>(++stage)];
  return stage;
}

// Which dimension tensor parallelism cuts, by name; -1: none.
int oracle_cut(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("norm") || has("q_a_proj") || has("kv_a_proj") || has("mlp.gate.")) return -1;
  if (has("o_proj") || has("down_proj")) return 1;
  return 0;
}

// What every rank holds, computed from its number.
Holdings oracle(const Model& model, const Parameter& parameter, const ParallelSizes& sizes,
                const PipelineLayout& layout, const std::vector<Rank>& ranks) {
  Holdings holdings;
  const auto world = static_cast<std::int64_t>(ranks.size());
  const std::int64_t stage_size = world / sizes.pp;
  for (std::int64_t number = 0; number < world; ++number) {
    if (number / stage_size != oracle_stage(parameter, layout, model.layers)) continue;
    const std::int64_t in_stage = number % stage_size;
    const bool expert = parameter.expert >= 0;
    if (expert) {
      const std::int64_t ep = in_stage / sizes.etp % sizes.ep;
      const std::int64_t per_rank = model.experts / sizes.ep;
      if (parameter.expert < ep * per_rank || parameter.expert >= (ep + 1) * per_rank) continue;
    }
    const std::int64_t ways = expert ? sizes.etp : sizes.tp;
    const std::int64_t index = in_stage % ways;
    ExplicitBox box = whole_box(parameter.shape);
    const int cut = oracle_cut(parameter.name);
    if (cut >= 0) {
      const auto dim = static_cast<std::size_t>(cut);
      std::int64_t extent = parameter.shape[dim];
      if (extent == model.vocabulary) {
        while (extent % (128 * ways) != 0) ++extent;
      }
      box[dim] = {std::min(index * extent / ways, parameter.shape[dim]),
                  std::min((index + 1) * extent / ways, parameter.shape[dim])};
    }
    holdings[ranks[static_cast<std::size_t>(number)]] = box;
  }
  return holdings;
}

void expect_oracle(const Model& model, const ParallelSizes& sizes, const PipelineLayout& layout,
                   const std::vector<Rank>& ranks) {
  const ShardedModel sharded = shard_megatron(model, sizes, layout, ranks);
  ASSERT_EQ(sharded.sharding_of.size(), model.parameters.size());
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const Parameter& parameter = model.parameters[i];
    ASSERT_EQ(holdings_of(sharded.shardings.at(sharded.sharding_of[i]), parameter.shape),
              oracle(model, parameter, sizes, layout, ranks))
        << parameter.name;
  }
  for (std::size_t a = 0; a < sharded.shardings.size(); ++a)
    for (std::size_t b = a + 1; b < sharded.shardings.size(); ++b)
      ASSERT_FALSE(sharded.shardings[a] == sharded.shardings[b]) << "kept twice";
}

TEST(Megatron, AgreesWithTheOracle) {
  std::vector<Rank> scattered = first_ranks(24);
  for (Rank& rank : scattered) rank = 100 + rank * 7 % 24;  // 7 and 24 share no factor
  for (const Model& model : {small_deepseek(), without_mtp(small_deepseek()), small_qwen()})
    for (const std::int64_t tp : {1, 2, 4})
      for (const std::int64_t cp : {1, 2})
        for (const std::int64_t pp : {1, 2, 3})
          for (const std::int64_t ep : {1, 2, 4})
            for (const std::int64_t etp : {1, 2, 4}) {
              const ParallelSizes sizes{.tp = tp, .pp = pp, .ep = ep, .etp = etp, .cp = cp};
              const std::int64_t stage = 24 / pp;
              if (stage % (tp * cp) != 0 || stage % (ep * etp) != 0) continue;
              PipelineLayout layout(static_cast<std::size_t>(pp), 1);
              layout.front() = model.layers - (pp - 1);
              expect_oracle(model, sizes, layout, scattered);
              if (HasFatalFailure()) return;
            }
}

TEST(Megatron, EmptyStagesAreAllowed) {
  expect_oracle(small_qwen(), {.tp = 1, .pp = 3}, {0, 4, 0}, first_ranks(6));
}

TEST(Megatron, DeepSeekOn256Ranks) {
  const Model model = load_library_model("deepseek-v3");
  const ParallelSizes sizes{.tp = 1, .pp = 16, .ep = 16};
  const ShardedModel sharded =
      shard_megatron(model, sizes, pipeline_layout(61, 16, 3, 2), first_ranks(256));
  // One way per stage for what is not an expert; 16 more where a stage has experts (all but the
  // first, whose three layers are dense).
  EXPECT_EQ(sharded.shardings.size(), 16U + 15U * 16U);

  const auto holders = [&](const std::string& name) {
    std::vector<Rank> ranks;
    for (const auto& [rank, box] : holdings_of(model, sharded, name)) ranks.push_back(rank);
    return ranks;
  };
  const auto stage = [](Rank number) {
    std::vector<Rank> ranks = first_ranks(16);
    for (Rank& rank : ranks) rank += number * 16;
    return ranks;
  };
  EXPECT_EQ(holders("model.embed_tokens.weight"), stage(0));
  EXPECT_EQ(holders("model.layers.2.mlp.up_proj.weight"), stage(0));
  EXPECT_EQ(holders("model.layers.3.self_attn.o_proj.weight"), stage(1));
  EXPECT_EQ(holders("model.layers.58.self_attn.o_proj.weight"), stage(14));
  EXPECT_EQ(holders("model.layers.59.self_attn.o_proj.weight"), stage(15));
  EXPECT_EQ(holders("model.norm.weight"), stage(15));
  EXPECT_EQ(holders("lm_head.weight"), stage(15));
  EXPECT_EQ(holders("model.layers.61.eh_proj.weight"), stage(15));
  EXPECT_EQ(holders("model.layers.61.embed_tokens.weight"), stage(15));
  EXPECT_EQ(holders("model.layers.3.mlp.experts.0.up_proj.weight"), std::vector<Rank>{16});
  EXPECT_EQ(holders("model.layers.3.mlp.experts.15.up_proj.weight"), std::vector<Rank>{16});
  EXPECT_EQ(holders("model.layers.3.mlp.experts.16.up_proj.weight"), std::vector<Rank>{17});
  EXPECT_EQ(holders("model.layers.60.mlp.experts.255.down_proj.weight"), std::vector<Rank>{255});
  EXPECT_EQ(holders("model.layers.61.mlp.experts.255.down_proj.weight"), std::vector<Rank>{255});
}

TEST(Megatron, QwenVocabularyIsPaddedByTp) {
  const Model model = load_library_model("qwen3-30b-a3b");
  const ShardedModel sharded =
      shard_megatron(model, {.tp = 4, .pp = 2, .ep = 4}, {24, 24}, first_ranks(8));
  const Holdings holdings = holdings_of(model, sharded, "lm_head.weight");
  // 151936 rows padded to 152064: three ranks of 38016, the last holds 37888 real ones.
  EXPECT_EQ(holdings.at(4), (ExplicitBox{{0, 38016}, {0, 2048}}));
  EXPECT_EQ(holdings.at(7), (ExplicitBox{{114048, 151936}, {0, 2048}}));
  EXPECT_EQ(holdings.count(3), 0U);
}

struct BadSizes {
  ParallelSizes sizes;
  PipelineLayout layout;
  std::int64_t gpus;
  const char* message;
};

TEST(Megatron, RefusesWhatDoesNotFit) {
  const Model qwen = load_library_model("qwen3-30b-a3b");
  const BadSizes bad[] = {
      {{.tp = 3}, {48}, 6, "source.parallel.tp: 3 does not divide 32 query heads of qwen3-30b-a3b"},
      {{.tp = 8}, {48}, 8, "source.parallel.tp: 8 does not divide 4 KV heads of qwen3-30b-a3b"},
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
      {{.pp = 2}, {48}, 8, "source.pp_layout: 1 entries for pp 2"},
      {{.pp = 2}, {24, 23}, 8, "source.pp_layout: the stages hold 47 layers; qwen3-30b-a3b has 48"},
      {{.pp = 2}, {24, 25}, 8, "source.pp_layout: stage 1 has 25 layers; 24 of the 48 layers"},
      {{.pp = 2}, {-1, 49}, 8, "source.pp_layout: stage 0 has -1 layers"},
      {{}, {48}, 0, "source.gpus: no ranks"},
  };
  for (const BadSizes& row : bad)
    EXPECT_THAT(
        input_error([&] { shard_megatron(qwen, row.sizes, row.layout, first_ranks(row.gpus)); }),
        HasSubstr(row.message));
  const Model deepseek = load_library_model("deepseek-v3");
  EXPECT_THAT(
      input_error(
          [&] { shard_megatron(deepseek, {.tp = 3}, {61}, first_ranks(3), "destination"); }),
      HasSubstr("destination.parallel.tp: 3 does not divide 128 query heads of deepseek-v3"));
  Model narrow = small_deepseek();
  narrow.query_heads = 256;
  EXPECT_THAT(input_error([&] { shard_megatron(narrow, {.tp = 64}, {6}, first_ranks(64)); }),
              HasSubstr("source.parallel.tp: 64 does not divide 96 feed-forward channels"));
}

}  // namespace
}  // namespace transload
