// vLLM's layout against a slow oracle, golden layouts, and bad sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/engines/engines.h"
#include "tests/models/holdings.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

// Which dimension tensor parallelism cuts, by name; -1: none.
int oracle_cut(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("norm") || has("q_a_proj") || has("kv_a_proj") || has("mlp.gate.") || has("eh_proj"))
    return -1;
  if (has("o_proj") || has("down_proj")) return 1;
  return 0;
}

// The experts of each rank of an engine, dealt out one rank after the other.
std::vector<std::int64_t> dealt_experts(std::int64_t experts, std::int64_t ranks) {
  std::vector<std::int64_t> holder;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const std::int64_t count = experts / ranks + (rank < experts % ranks ? 1 : 0);
    holder.insert(holder.end(), static_cast<std::size_t>(count), rank);
  }
  return holder;
}

Holdings oracle(const Model& model, const Parameter& parameter, std::int64_t tp, std::int64_t dp,
                std::int64_t ep, const std::vector<Rank>& ranks) {
  Holdings holdings;
  const std::vector<std::int64_t> expert_holder = dealt_experts(model.experts, tp * dp);
  for (std::size_t number = 0; number < ranks.size(); ++number) {
    const std::int64_t in_engine = static_cast<std::int64_t>(number) % (tp * dp);
    const std::int64_t index = in_engine % tp;
    ExplicitBox box = whole_box(parameter.shape);
    const int cut = oracle_cut(parameter.name);
    if (parameter.expert >= 0 && ep > 1) {
      if (expert_holder[static_cast<std::size_t>(parameter.expert)] != in_engine) continue;
    } else if (parameter.kind == ParameterKind::kAttentionKV && tp > model.kv_heads) {
      box = cut_box(parameter.shape, 0, index / (tp / model.kv_heads), model.kv_heads);
    } else if (cut >= 0) {
      const auto dim = static_cast<std::size_t>(cut);
      std::int64_t extent = parameter.shape[dim];
      if (extent == model.vocabulary) {
        while (extent % 64 != 0) ++extent;
      }
      box[dim] = {std::min(index * extent / tp, parameter.shape[dim]),
                  std::min((index + 1) * extent / tp, parameter.shape[dim])};
    }
    holdings[ranks[number]] = box;
  }
  return holdings;
}

void expect_oracle(const Model& model, const ParallelSizes& sizes, std::int64_t dp,
                   const std::vector<Rank>& ranks) {
  const ShardedModel sharded = shard_vllm(model, sizes, ranks);
  ASSERT_EQ(sharded.sharding_of.size(), model.parameters.size());
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const Parameter& parameter = model.parameters[i];
    ASSERT_EQ(holdings_of(sharded.shardings.at(sharded.sharding_of[i]), parameter.shape),
              oracle(model, parameter, sizes.tp, dp, sizes.ep, ranks))
        << parameter.name;
  }
  for (std::size_t a = 0; a < sharded.shardings.size(); ++a)
    for (std::size_t b = a + 1; b < sharded.shardings.size(); ++b)
      ASSERT_FALSE(sharded.shardings[a] == sharded.shardings[b]) << "kept twice";
}

TEST(Vllm, AgreesWithTheOracle) {
  std::vector<Rank> scattered = first_ranks(32);
  for (Rank& rank : scattered) rank = 5 + rank * 9 % 32;  // 9 and 32 share no factor
  for (const Model& model : {small_deepseek(), without_mtp(small_deepseek()), small_qwen()})
    for (const std::int64_t tp : {1, 2, 4, 8})
      for (const std::int64_t dp : {1, 2, 4})
        for (const std::int64_t ep : {std::int64_t{1}, tp * dp}) {
          expect_oracle(model, {.tp = tp, .ep = ep, .dp = dp}, dp, scattered);
          if (HasFatalFailure()) return;
        }
  // dp follows from ep.
  expect_oracle(small_qwen(), {.tp = 2, .ep = 8}, 4, scattered);
  expect_oracle(small_qwen(), {.tp = 2, .ep = 1}, 1, scattered);
  // More KV copies than one: 4 heads over 16 ranks.
  expect_oracle(small_qwen(), {.tp = 16}, 1, scattered);
  // More ranks than experts: some hold none.
  expect_oracle(small_qwen(), {.tp = 2, .ep = 32}, 16, scattered);
}

TEST(Vllm, DeepSeekOnEightEnginesOf32) {
  const Model model = without_mtp(load_library_model("deepseek-v3"));
  const ShardedModel sharded = shard_vllm(model, {.tp = 32}, first_ranks(256));
  EXPECT_EQ(sharded.shardings.size(), 3U);  // whole, rows, columns
  const auto check = [&](const std::string& name, Rank rank, const ExplicitBox& box) {
    const Holdings holdings = holdings_of(model, sharded, name);
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
}

TEST(Vllm, QwenReplicatesKvHeadsAboveFour) {
  const Model model = load_library_model("qwen3-30b-a3b");
  const ShardedModel sharded = shard_vllm(model, {.tp = 8}, first_ranks(16));
  const Holdings keys = holdings_of(model, sharded, "model.layers.5.self_attn.k_proj.weight");
  for (Rank rank = 0; rank < 16; ++rank) {
    const std::int64_t head = rank % 8 / 2;
    EXPECT_EQ(keys.at(rank), (ExplicitBox{{head * 128, head * 128 + 128}, {0, 2048}})) << rank;
  }
  const Holdings queries = holdings_of(model, sharded, "model.layers.5.self_attn.q_proj.weight");
  EXPECT_EQ(queries.at(15), (ExplicitBox{{3584, 4096}, {0, 2048}}));
}

TEST(Vllm, KimiDealsSpareExpertsToTheFirstRanks) {
  const Model model = load_library_model("kimi-k2");
  const ShardedModel sharded = shard_vllm(model, {.tp = 16, .ep = 256}, first_ranks(512));
  std::vector<int> experts(512, 0);
  for (std::int64_t expert = 0; expert < 384; ++expert) {
    const Holdings holdings = holdings_of(
        model, sharded, "model.layers.9.mlp.experts." + std::to_string(expert) + ".up_proj.weight");
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

struct BadSizes {
  ParallelSizes sizes;
  std::int64_t gpus;
  const char* message;
};

TEST(Vllm, RefusesWhatDoesNotFit) {
  const Model qwen = load_library_model("qwen3-30b-a3b");
  const BadSizes bad[] = {
      {{.tp = 3}, 3, "destination.parallel.tp: 3 does not divide 32 query heads of qwen3-30b-a3b"},
      {{.tp = 4, .pp = 2}, 8, "destination.parallel.pp: this version plans vllm with pp 1 only"},
      {{.tp = 4, .ep = 2}, 8, "destination.parallel.ep: vllm spreads experts over a whole engine"},
      {{.tp = 4, .ep = 6}, 8, "expected 1 or tp 4 * dp 1 = 4, found 6"},
      {{.tp = 4, .ep = 4, .dp = 2}, 8, "expected 1 or tp 4 * dp 2 = 8, found 4"},
      {{.tp = 4}, 6, "destination.gpus: 6 ranks are not a multiple of the 4 ranks of an engine"},
      {{.tp = 2, .dp = 8}, 8, "8 ranks are not a multiple of the 16 ranks of an engine"},
      {{.tp = 16}, 8, "destination.parallel.tp: 16 is more than the 8 ranks"},
      {{.tp = -1}, 8, "destination.parallel.tp: -1 is below 1"},
      {{.tp = 4, .dp = -2}, 8, "destination.parallel.dp: -2 is below 1"},
      {{.etp = 2}, 8, "destination.parallel.etp: vllm has no etp"},
      {{.cp = 2}, 8, "destination.parallel.cp: vllm has no cp"},
      {{}, 0, "destination.gpus: no ranks"},
  };
  for (const BadSizes& row : bad)
    EXPECT_THAT(input_error([&] { shard_vllm(qwen, row.sizes, first_ranks(row.gpus)); }),
                HasSubstr(row.message));
}

TEST(Vllm, NamesTheFigureThatDoesNotFit) {
  const auto message = [](const Model& model, const ParallelSizes& sizes, std::int64_t gpus) {
    return input_error([&] { shard_vllm(model, sizes, first_ranks(gpus), "destination[1]"); });
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
