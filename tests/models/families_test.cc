// Names, shapes and order of parameters, written out by hand for some of each model.
#include <gtest/gtest.h>

#include <set>

#include "tests/models/holdings.h"

namespace transload {
namespace {

using Shape = std::vector<std::int64_t>;

struct Expected {
  const char* name;
  Shape shape;
  ParameterKind kind;
  int layer;
  int expert;
};

void expect_parameters(const Model& model, const std::vector<Expected>& rows) {
  for (const Expected& row : rows) {
    const Parameter& parameter = model.parameters.at(index_of(model, row.name));
    EXPECT_EQ(parameter.shape, row.shape) << row.name;
    EXPECT_EQ(parameter.kind, row.kind) << row.name;
    EXPECT_EQ(parameter.layer, row.layer) << row.name;
    EXPECT_EQ(parameter.expert, row.expert) << row.name;
  }
}

TEST(Families, DeepSeekByHand) {
  using enum ParameterKind;
  expect_parameters(
      load_library_model("deepseek-v3"),
      {{"model.embed_tokens.weight", {129280, 7168}, kEmbedding, -1, -1},
       {"model.layers.0.self_attn.q_a_proj.weight", {1536, 7168}, kMlaDown, 0, -1},
       {"model.layers.0.self_attn.q_a_layernorm.weight", {1536}, kNorm, 0, -1},
       {"model.layers.0.self_attn.q_b_proj.weight", {24576, 1536}, kMlaUp, 0, -1},
       {"model.layers.0.self_attn.kv_a_proj_with_mqa.weight", {576, 7168}, kMlaDown, 0, -1},
       {"model.layers.0.self_attn.kv_a_layernorm.weight", {512}, kNorm, 0, -1},
       {"model.layers.0.self_attn.kv_b_proj.weight", {32768, 512}, kMlaUp, 0, -1},
       {"model.layers.0.self_attn.o_proj.weight", {7168, 16384}, kAttentionO, 0, -1},
       {"model.layers.2.mlp.down_proj.weight", {7168, 18432}, kMlpDown, 2, -1},
       {"model.layers.3.mlp.gate.weight", {256, 7168}, kRouter, 3, -1},
       {"model.layers.3.mlp.gate.e_score_correction_bias", {256}, kRouterBias, 3, -1},
       {"model.layers.3.mlp.experts.255.down_proj.weight", {7168, 2048}, kExpertDown, 3, 255},
       {"model.layers.60.mlp.experts.7.up_proj.weight", {2048, 7168}, kExpertGateUp, 60, 7},
       {"model.layers.60.mlp.shared_experts.gate_proj.weight", {2048, 7168}, kMlpGateUp, 60, -1},
       {"model.norm.weight", {7168}, kNorm, -1, -1},
       {"lm_head.weight", {129280, 7168}, kOutput, -1, -1},
       {"model.layers.61.eh_proj.weight", {7168, 14336}, kMtpProjection, 61, -1},
       {"model.layers.61.enorm.weight", {7168}, kNorm, 61, -1},
       {"model.layers.61.shared_head.norm.weight", {7168}, kNorm, 61, -1},
       {"model.layers.61.shared_head.head.weight", {129280, 7168}, kOutput, 61, -1},
       {"model.layers.61.mlp.experts.0.gate_proj.weight", {2048, 7168}, kExpertGateUp, 61, 0}});
}

TEST(Families, QwenByHand) {
  using enum ParameterKind;
  expect_parameters(
      load_library_model("qwen3-30b-a3b"),
      {{"model.embed_tokens.weight", {151936, 2048}, kEmbedding, -1, -1},
       {"model.layers.47.self_attn.q_proj.weight", {4096, 2048}, kAttentionQ, 47, -1},
       {"model.layers.47.self_attn.k_proj.weight", {512, 2048}, kAttentionKV, 47, -1},
       {"model.layers.47.self_attn.v_proj.weight", {512, 2048}, kAttentionKV, 47, -1},
       {"model.layers.47.self_attn.o_proj.weight", {2048, 4096}, kAttentionO, 47, -1},
       {"model.layers.47.self_attn.k_norm.weight", {128}, kHeadNorm, 47, -1},
       {"model.layers.0.mlp.gate.weight", {128, 2048}, kRouter, 0, -1},
       {"model.layers.0.mlp.experts.127.gate_proj.weight", {768, 2048}, kExpertGateUp, 0, 127},
       {"model.layers.0.mlp.experts.127.down_proj.weight", {2048, 768}, kExpertDown, 0, 127}});
}

TEST(Families, KimiHasOneDenseLayerAndNoPredictionLayer) {
  const Model model = load_library_model("kimi-k2");
  expect_parameters(
      model,
      {{"model.layers.0.mlp.up_proj.weight", {18432, 7168}, ParameterKind::kMlpGateUp, 0, -1},
       {"model.layers.1.mlp.experts.383.up_proj.weight",
        {2048, 7168},
        ParameterKind::kExpertGateUp,
        1,
        383}});
  for (const Parameter& parameter : model.parameters)
    ASSERT_EQ(parameter.part, ModelPart::kMain) << parameter.name;
}

TEST(Families, SharedExpertsAreOneWideMatrix) {
  const Model model = small_deepseek();
  expect_parameters(model, {{"model.layers.2.mlp.shared_experts.down_proj.weight",
                             {64, 64},
                             ParameterKind::kMlpDown,
                             2,
                             -1}});
}

TEST(Families, PartsAreMarked) {
  const Model model = load_library_model("deepseek-v3");
  for (const Parameter& parameter : model.parameters) {
    const bool copy = parameter.name == "model.layers.61.embed_tokens.weight" ||
                      parameter.name == "model.layers.61.shared_head.head.weight";
    const ModelPart expected = copy                    ? ModelPart::kMtpCopy
                               : parameter.layer == 61 ? ModelPart::kMtp
                                                       : ModelPart::kMain;
    ASSERT_EQ(parameter.part, expected) << parameter.name;
  }
}

TEST(Families, OrderIsThatOfTheCheckpoint) {
  const Model model = small_deepseek();
  EXPECT_EQ(model.parameters.front().name, "model.embed_tokens.weight");
  EXPECT_EQ(index_of(model, "lm_head.weight"), index_of(model, "model.norm.weight") + 1);
  const std::size_t gate = index_of(model, "model.layers.2.mlp.experts.10.gate_proj.weight");
  EXPECT_EQ(index_of(model, "model.layers.2.mlp.experts.10.up_proj.weight"), gate + 1);
  EXPECT_EQ(index_of(model, "model.layers.2.mlp.experts.10.down_proj.weight"), gate + 2);
  EXPECT_EQ(index_of(model, "model.layers.2.mlp.experts.11.gate_proj.weight"), gate + 3);
  EXPECT_EQ(index_of(model, "model.layers.2.mlp.shared_experts.gate_proj.weight"), gate + 6);
  // Layers ascend; what lies outside them comes first or between the last one and the predictions.
  const std::size_t norm = index_of(model, "model.norm.weight");
  std::int32_t layer = 0;
  for (std::size_t i = 1; i < norm; ++i) {
    EXPECT_GE(model.parameters[i].layer, layer) << model.parameters[i].name;
    layer = model.parameters[i].layer;
  }
  for (std::size_t i = norm + 2; i < model.parameters.size(); ++i)
    EXPECT_EQ(model.parameters[i].layer, 6);
}

TEST(Families, NamesAreUnique) {
  for (const std::string& library_name : model_library()) {
    const Model model = load_library_model(library_name);
    std::set<std::string_view> names;
    for (const Parameter& parameter : model.parameters) names.insert(parameter.name);
    EXPECT_EQ(names.size(), model.parameters.size()) << library_name;
  }
}

}  // namespace
}  // namespace transload
