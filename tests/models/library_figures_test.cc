// The figures of every model that sharding rules ask for, from facts/models.md section 1.1.
#include <gtest/gtest.h>

#include <ostream>

#include "models/library.h"

namespace transload {
namespace {

struct Row {
  const char* name;
  std::int64_t layers;
  std::int64_t mtp_layers;
  std::int64_t query_heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;  // 0: latent attention
  std::int64_t experts;
  std::int64_t vocabulary;
  bool tied = false;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

// clang-format off
constexpr Row kRows[] = {
    {"deepseek-v3", 61, 1, 128, 128, 0, 256, 129'280},
    {"deepseek-v3.2", 61, 1, 128, 128, 0, 256, 129'280},
    {"deepseek-v4-flash", 43, 1, 64, 1, 512, 256, 129'280},
    {"deepseek-v4-pro", 61, 1, 128, 1, 512, 384, 129'280},
    {"glm-4.5", 92, 1, 96, 8, 128, 160, 151'552},
    {"glm-4.5-air", 46, 1, 96, 8, 128, 128, 151'552},
    {"glm-5", 78, 1, 64, 64, 0, 256, 154'880},
    {"glm-5.2", 78, 1, 64, 64, 0, 256, 154'880},
    {"gpt-oss-120b", 36, 0, 64, 8, 64, 128, 201'088},
    {"gpt-oss-20b", 24, 0, 64, 8, 64, 32, 201'088},
    {"kimi-k2", 61, 0, 64, 64, 0, 384, 163'840},
    {"kimi-k3", 93, 0, 96, 96, 0, 896, 163'840},
    {"ling-1t", 80, 0, 64, 8, 128, 256, 157'184},
    {"llama-3.1-405b", 126, 0, 128, 8, 128, 0, 128'256},
    {"llama-3.1-70b", 80, 0, 64, 8, 128, 0, 128'256},
    {"llama-3.1-8b", 32, 0, 32, 8, 128, 0, 128'256},
    {"llama-4-maverick", 48, 0, 40, 8, 128, 128, 202'048},
    {"llama-4-scout", 48, 0, 40, 8, 128, 16, 202'048},
    {"minimax-m2", 62, 0, 48, 8, 128, 256, 200'064},
    {"mixtral-8x7b", 32, 0, 32, 8, 128, 8, 32'000},
    {"nemotron-3-nano", 52, 0, 32, 2, 128, 128, 131'072},
    {"nemotron-3-super", 88, 1, 32, 2, 128, 512, 131'072},
    {"nemotron-3-ultra", 108, 1, 64, 2, 128, 512, 131'072},
    {"qwen3-235b-a22b", 94, 0, 64, 4, 128, 128, 151'936},
    {"qwen3-30b-a3b", 48, 0, 32, 4, 128, 128, 151'936},
    {"qwen3-32b", 64, 0, 64, 8, 128, 0, 151'936},
    {"qwen3-4b", 36, 0, 32, 8, 128, 0, 151'936, true},
    {"qwen3.5-35b-a3b", 40, 1, 16, 2, 256, 256, 248'320},
    {"qwen3.5-397b-a17b", 60, 1, 32, 2, 256, 512, 248'320},
    {"qwen3.6-35b-a3b", 40, 1, 16, 2, 256, 256, 248'320},
    {"qwen3.8-2.4t-a95b", 92, 1, 64, 4, 256, 512, 248'320},
    {"qwen3.8-27b", 64, 1, 24, 4, 256, 0, 248'320},
};
// clang-format on

class LibraryFigures : public ::testing::TestWithParam<Row> {};

TEST_P(LibraryFigures, AreThoseOfTheFacts) {
  const Row& row = GetParam();
  const Model model = load_library_model(row.name);
  EXPECT_EQ(model.layers, row.layers);
  EXPECT_EQ(model.mtp_layers, row.mtp_layers);
  EXPECT_EQ(model.query_heads, row.query_heads);
  EXPECT_EQ(model.kv_heads, row.kv_heads);
  EXPECT_EQ(model.head_dim, row.head_dim);
  EXPECT_EQ(model.experts, row.experts);
  EXPECT_EQ(model.vocabulary, row.vocabulary);
  EXPECT_EQ(model.tied_embeddings, row.tied);
}

INSTANTIATE_TEST_SUITE_P(All, LibraryFigures, ::testing::ValuesIn(kRows), [](const auto& info) {
  std::string name = info.param.name;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
});

TEST(LibraryFiguresOfHybrids, HeadsOfStateSpaceAndDeltaLayers) {
  // Facts 1.1, "Hybrid / special facts".
  struct Heads {
    const char* name;
    std::int64_t mamba;
    std::int64_t gdn_key;
    std::int64_t gdn_value;
    std::int64_t kda;
  };
  constexpr Heads kHeads[] = {
      {"nemotron-3-nano", 64, 0, 0, 0},     {"nemotron-3-super", 128, 0, 0, 0},
      {"nemotron-3-ultra", 256, 0, 0, 0},   {"qwen3.6-35b-a3b", 0, 16, 32, 0},
      {"qwen3.8-27b", 0, 16, 48, 0},        {"qwen3.5-397b-a17b", 0, 16, 64, 0},
      {"qwen3.8-2.4t-a95b", 0, 16, 128, 0}, {"kimi-k3", 0, 0, 0, 96},
  };
  for (const Heads& heads : kHeads) {
    const Model model = load_library_model(heads.name);
    EXPECT_EQ(model.mamba_heads, heads.mamba) << heads.name;
    EXPECT_EQ(model.mamba_groups, heads.mamba > 0 ? 8 : 0) << heads.name;
    EXPECT_EQ(model.gdn_key_heads, heads.gdn_key) << heads.name;
    EXPECT_EQ(model.gdn_value_heads, heads.gdn_value) << heads.name;
    EXPECT_EQ(model.kda_heads, heads.kda) << heads.name;
  }
}

}  // namespace
}  // namespace transload
