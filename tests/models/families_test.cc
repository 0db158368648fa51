// Names, shapes, kinds and order of published parameters, written out by hand from
// facts/models.md sections 2.1 to 2.6 for some of each family.
#include <gtest/gtest.h>

#include <set>

#include "tests/models/expected_parameters.h"

namespace transload {
namespace {

using enum ParameterKind;

TEST(Families, DeepSeekByHand) {
  expect_parameters(
      load_library_model("deepseek-v3"),
      {{"model.embed_tokens.weight", {129280, 7168}, kEmbedding},
       {"model.layers.0.self_attn.q_a_proj.weight", {1536, 7168}, kMlaQueryDown, 0},
       {"model.layers.0.self_attn.q_a_layernorm.weight", {1536}, kNorm, 0},
       {"model.layers.0.self_attn.q_b_proj.weight", {24576, 1536}, kMlaQueryUp, 0},
       {"model.layers.0.self_attn.kv_a_proj_with_mqa.weight", {576, 7168}, kMlaKvDown, 0},
       {"model.layers.0.self_attn.kv_a_layernorm.weight", {512}, kNorm, 0},
       {"model.layers.0.self_attn.kv_b_proj.weight", {32768, 512}, kMlaKvUp, 0},
       {"model.layers.0.self_attn.o_proj.weight", {7168, 16384}, kAttentionO, 0},
       {"model.layers.2.mlp.down_proj.weight", {7168, 18432}, kMlpDown, 2},
       {"model.layers.3.mlp.gate.weight", {256, 7168}, kRouter, 3},
       {"model.layers.3.mlp.gate.e_score_correction_bias", {256}, kRouterBias, 3},
       {"model.layers.3.mlp.experts.255.down_proj.weight", {7168, 2048}, kExpertDown, 3, 255},
       {"model.layers.60.mlp.experts.7.up_proj.weight", {2048, 7168}, kExpertUp, 60, 7},
       {"model.layers.60.mlp.shared_experts.gate_proj.weight", {2048, 7168}, kSharedGate, 60},
       {"model.norm.weight", {7168}, kNorm},
       {"lm_head.weight", {129280, 7168}, kOutput},
       {"model.layers.61.eh_proj.weight", {7168, 14336}, kMtpProjection, 61},
       {"model.layers.61.enorm.weight", {7168}, kNorm, 61},
       {"model.layers.61.shared_head.norm.weight", {7168}, kNorm, 61},
       {"model.layers.61.shared_head.head.weight", {129280, 7168}, kOutput, 61},
       {"model.layers.61.mlp.experts.0.gate_proj.weight", {2048, 7168}, kExpertGate, 61, 0}});
}

TEST(Families, IndexerByHand) {
  expect_parameters(
      load_library_model("glm-5"),
      {{"model.layers.3.self_attn.indexer.wq_b.weight", {4096, 2048}, kIndexer, 3},
       {"model.layers.3.self_attn.indexer.wk.weight", {128, 6144}, kIndexer, 3},
       {"model.layers.3.self_attn.indexer.k_norm.bias", {128}, kIndexer, 3},
       {"model.layers.3.self_attn.indexer.weights_proj.weight", {32, 6144}, kIndexer, 3},
       {"model.layers.3.self_attn.kv_b_proj.weight", {64 * (192 + 256), 512}, kMlaKvUp, 3},
       {"model.layers.78.self_attn.indexer.wk.weight", {128, 6144}, kIndexer, 78}});
}

TEST(Families, IndexerOfSomeLayers) {
  // Facts 1.1: layers 0, 1, 2, 6, 10, ..., 74 and the prediction layer (78).
  std::set<int> expected = {0, 1, 2, 78};
  for (int layer = 6; layer <= 74; layer += 4) expected.insert(layer);
  std::set<int> found;
  const Model model = load_library_model("glm-5.2");
  for (const Parameter& parameter : model.parameters)
    if (parameter.kind == kIndexer) found.insert(parameter.layer);
  EXPECT_EQ(found, expected);
}

TEST(Families, QueriesWithoutALatentStep) {
  // As DeepSeek-V2-Lite and Moonlight write it: q_lora_rank is null.
  const Model model = model_of(
      "deepseek_v3",
      "hidden_size: 64, num_hidden_layers: 2, first_k_dense_replace: 1, intermediate_size: 96, "
      "moe_intermediate_size: 32, n_routed_experts: 4, n_shared_experts: 0, "
      "num_attention_heads: 8, num_key_value_heads: 8, q_lora_rank: null, kv_lora_rank: 16, "
      "qk_nope_head_dim: 6, qk_rope_head_dim: 2, v_head_dim: 4, vocab_size: 1000");
  expect_parameters(model, {{"model.layers.1.self_attn.q_proj.weight", {64, 64}, kMlaQueryUp, 1}});
  // Embedding, norm, head; attention and norms 7 per layer; 3 dense; router 2 and 4 x 3 experts.
  EXPECT_EQ(model.parameters.size(), 3U + 2 * 7 + 3 + 2 + 12);
  EXPECT_EQ(model.mtp_layers, 0);
}

TEST(Families, QwenByHand) {
  expect_parameters(
      load_library_model("qwen3-30b-a3b"),
      {{"model.embed_tokens.weight", {151936, 2048}, kEmbedding},
       {"model.layers.47.self_attn.q_proj.weight", {4096, 2048}, kAttentionQ, 47},
       {"model.layers.47.self_attn.k_proj.weight", {512, 2048}, kAttentionK, 47},
       {"model.layers.47.self_attn.v_proj.weight", {512, 2048}, kAttentionV, 47},
       {"model.layers.47.self_attn.o_proj.weight", {2048, 4096}, kAttentionO, 47},
       {"model.layers.47.self_attn.k_norm.weight", {128}, kHeadNorm, 47},
       {"model.layers.0.mlp.gate.weight", {128, 2048}, kRouter, 0},
       {"model.layers.0.mlp.experts.127.gate_proj.weight", {768, 2048}, kExpertGate, 0, 127},
       {"model.layers.0.mlp.experts.127.down_proj.weight", {2048, 768}, kExpertDown, 0, 127}});
}

TEST(Families, QwenMoeMayHaveDenseLayers) {
  const std::string shape =
      "hidden_size: 64, num_hidden_layers: 4, num_attention_heads: 16, num_key_value_heads: 4, "
      "head_dim: 8, moe_intermediate_size: 48, num_experts: 2, vocab_size: 1000";
  const Model model = model_of("qwen3_moe", shape +
                                                ", decoder_sparse_step: 2, mlp_only_layers: [3], "
                                                "intermediate_size: 96");
  // Only layer 1 is sparse: every second one, but not layer 3.
  std::set<int> sparse;
  for (const Parameter& parameter : model.parameters)
    if (parameter.kind == kRouter) sparse.insert(parameter.layer);
  EXPECT_EQ(sparse, std::set<int>{1});
  expect_parameters(model, {{"model.layers.3.mlp.up_proj.weight", {96, 64}, kMlpUp, 3}});
  EXPECT_NE(refusal([&] {
              model_of("qwen3_moe", shape + ", mlp_only_layers: [0]");
            }).find("intermediate_size is missing"),
            std::string::npos);
}

TEST(Families, DenseByHand) {
  const Model tied = load_library_model("qwen3-4b");
  EXPECT_TRUE(tied.tied_embeddings);
  EXPECT_THROW(parameter_named(tied, "lm_head.weight"), std::runtime_error);
  expect_parameters(tied, {{"model.layers.35.self_attn.q_norm.weight", {128}, kHeadNorm, 35},
                           {"model.layers.35.mlp.gate_proj.weight", {9728, 2560}, kMlpGate, 35}});
  const Model llama = load_library_model("llama-3.1-405b");
  EXPECT_FALSE(llama.tied_embeddings);
  EXPECT_EQ(llama.head_dim, 128);
  expect_parameters(llama,
                    {{"lm_head.weight", {128256, 16384}, kOutput},
                     {"model.layers.0.self_attn.k_proj.weight", {1024, 16384}, kAttentionK, 0},
                     {"model.layers.125.mlp.down_proj.weight", {16384, 53248}, kMlpDown, 125}});
  // Qwen2.5-14B's shapes: 40 query heads over 5120, biases on q, k and v alone.
  const Model qwen2 = model_of("qwen2",
                               "hidden_size: 5120, num_hidden_layers: 2, num_attention_heads: 40, "
                               "num_key_value_heads: 8, intermediate_size: 13824, "
                               "vocab_size: 152064, tie_word_embeddings: false");
  EXPECT_EQ(qwen2.head_dim, 128);
  expect_parameters(qwen2, {{"model.layers.1.self_attn.q_proj.bias", {5120}, kAttentionQ, 1},
                            {"model.layers.1.self_attn.v_proj.bias", {1024}, kAttentionV, 1}});
  EXPECT_THROW(parameter_named(qwen2, "model.layers.1.self_attn.o_proj.bias"), std::runtime_error);
}

TEST(Families, AttentionBiasesWhereTheConfigSaysSo) {
  const Model model = model_of("qwen3",
                               "hidden_size: 64, num_hidden_layers: 1, num_attention_heads: 4, "
                               "num_key_value_heads: 2, head_dim: 8, intermediate_size: 96, "
                               "vocab_size: 1000, tie_word_embeddings: true, attention_bias: true");
  expect_parameters(model, {{"model.layers.0.self_attn.k_proj.bias", {16}, kAttentionK, 0},
                            {"model.layers.0.self_attn.o_proj.bias", {64}, kAttentionOBias, 0}});
}

TEST(Families, RoutersWithoutABias) {
  const std::string shape =
      "hidden_size: 64, num_hidden_layers: 1, first_k_dense_replace: 0, intermediate_size: 96, "
      "moe_intermediate_size: 32, n_routed_experts: 4, n_shared_experts: 0, "
      "num_attention_heads: 8, q_lora_rank: null, kv_lora_rank: 16, qk_nope_head_dim: 6, "
      "qk_rope_head_dim: 2, v_head_dim: 4, vocab_size: 1000, topk_method: ";
  const std::string bias = "model.layers.0.mlp.gate.e_score_correction_bias";
  EXPECT_NO_THROW(parameter_named(model_of("deepseek_v3", shape + "noaux_tc"), bias));
  EXPECT_THROW(parameter_named(model_of("deepseek_v3", shape + "greedy"), bias),
               std::runtime_error);
}

TEST(Families, OthersByHand) {
  expect_parameters(
      load_library_model("glm-4.5"),
      {{"model.layers.0.self_attn.q_proj.bias", {12288}, kAttentionQ, 0},
       {"model.layers.0.self_attn.q_norm.weight", {128}, kHeadNorm, 0},
       {"model.layers.2.mlp.gate_proj.weight", {12288, 5120}, kMlpGate, 2},
       {"model.layers.91.mlp.shared_experts.down_proj.weight", {5120, 1536}, kSharedDown, 91},
       {"model.layers.92.eh_proj.weight", {5120, 10240}, kMtpProjection, 92},
       {"model.layers.92.embed_tokens.weight", {151552, 5120}, kEmbedding, 92}});
  EXPECT_THROW(
      parameter_named(load_library_model("glm-4.5-air"), "model.layers.0.self_attn.q_norm.weight"),
      std::runtime_error);
  expect_parameters(
      load_library_model("minimax-m2"),
      {{"model.layers.0.self_attn.q_norm.weight", {6144}, kQueryNormFull, 0},
       {"model.layers.0.self_attn.k_norm.weight", {1024}, kKeyNormFull, 0},
       {"model.layers.0.block_sparse_moe.e_score_correction_bias", {256}, kRouterBias, 0},
       {"model.layers.0.block_sparse_moe.experts.255.w2.weight",
        {3072, 1536},
        kExpertDown,
        0,
        255}});
  expect_parameters(
      load_library_model("mixtral-8x7b"),
      {{"model.layers.31.block_sparse_moe.gate.weight", {8, 4096}, kRouter, 31},
       {"model.layers.31.block_sparse_moe.experts.7.w1.weight", {14336, 4096}, kExpertGate, 31, 7},
       {"model.layers.31.block_sparse_moe.experts.7.w3.weight", {14336, 4096}, kExpertUp, 31, 7}});
  expect_parameters(
      load_library_model("ling-1t"),
      {{"model.word_embeddings.weight", {157184, 8192}, kEmbedding},
       {"model.layers.0.attention.query_key_value.weight", {80 * 128, 8192}, kAttentionQ, 0},
       {"model.layers.0.attention.dense.weight", {8192, 8192}, kAttentionO, 0},
       {"model.layers.0.attention.key_layernorm.weight", {128}, kHeadNorm, 0},
       {"model.layers.4.mlp.gate.expert_bias", {256}, kRouterBias, 4},
       {"model.layers.3.mlp.up_proj.weight", {18432, 8192}, kMlpUp, 3}});
  expect_parameters(
      load_library_model("llama-4-maverick"),
      {{"language_model.model.layers.0.feed_forward.gate_proj.weight", {16384, 5120}, kMlpGate, 0},
       {"language_model.model.layers.1.feed_forward.router.weight", {128, 5120}, kRouter, 1},
       {"language_model.model.layers.1.feed_forward.experts.gate_up_proj",
        {128, 5120, 16384},
        kExpertGate,
        1},
       {"language_model.model.layers.1.feed_forward.experts.down_proj",
        {128, 8192, 5120},
        kExpertDown,
        1},
       {"language_model.model.layers.1.feed_forward.shared_expert.down_proj.weight",
        {5120, 8192},
        kSharedDown,
        1},
       {"language_model.lm_head.weight", {202048, 5120}, kOutput}});
  expect_parameters(
      load_library_model("gpt-oss-120b"),
      {{"model.layers.0.self_attn.q_proj.weight", {4096, 2880}, kAttentionQ, 0},
       {"model.layers.0.self_attn.k_proj.bias", {512}, kAttentionK, 0},
       {"model.layers.0.self_attn.o_proj.bias", {2880}, kAttentionOBias, 0},
       {"model.layers.0.self_attn.sinks", {64}, kSinks, 0},
       {"model.layers.0.mlp.router.bias", {128}, kRouterBias, 0},
       {"model.layers.0.mlp.experts.gate_up_proj", {128, 2880, 5760}, kExpertGate, 0},
       {"model.layers.0.mlp.experts.gate_up_proj_bias", {128, 5760}, kExpertGateBias, 0},
       {"model.layers.0.mlp.experts.down_proj", {128, 2880, 2880}, kExpertDown, 0},
       {"model.layers.0.mlp.experts.down_proj_bias", {128, 2880}, kExpertDownBias, 0}});
}

TEST(Families, SharedExpertsAreOneWideMatrix) {
  expect_parameters(
      tiny_deepseek(),
      {{"model.layers.2.mlp.shared_experts.down_proj.weight", {64, 64}, kSharedDown, 2}});
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
  const Model model = tiny_deepseek();
  EXPECT_EQ(model.parameters.front().name, "model.embed_tokens.weight");
  EXPECT_EQ(place_of(model, "lm_head.weight"), place_of(model, "model.norm.weight") + 1);
  const std::size_t gate = place_of(model, "model.layers.2.mlp.experts.10.gate_proj.weight");
  EXPECT_EQ(place_of(model, "model.layers.2.mlp.experts.10.up_proj.weight"), gate + 1);
  EXPECT_EQ(place_of(model, "model.layers.2.mlp.experts.10.down_proj.weight"), gate + 2);
  EXPECT_EQ(place_of(model, "model.layers.2.mlp.experts.11.gate_proj.weight"), gate + 3);
  EXPECT_EQ(place_of(model, "model.layers.2.mlp.shared_experts.gate_proj.weight"), gate + 6);
  // Layers ascend; what lies outside them comes first or between the last one and the predictions.
  const std::size_t norm = place_of(model, "model.norm.weight");
  std::int32_t layer = 0;
  for (std::size_t i = 1; i < norm; ++i) {
    EXPECT_GE(model.parameters[i].layer, layer) << model.parameters[i].name;
    layer = model.parameters[i].layer;
  }
  for (std::size_t i = norm + 2; i < model.parameters.size(); ++i)
    EXPECT_EQ(model.parameters[i].layer, 6);
}

TEST(Families, NamesAreUniqueAndLayersInRange) {
  for (const std::string& library_name : model_library()) {
    const Model model = load_library_model(library_name);
    std::set<std::string_view> names;
    for (const Parameter& parameter : model.parameters) {
      names.insert(parameter.name);
      ASSERT_LT(parameter.layer, model.layers + model.mtp_layers) << parameter.name;
      ASSERT_LT(parameter.expert, model.experts) << parameter.name;
      ASSERT_EQ(parameter.fixed_dtype, parameter.dtype != DType::kBF16) << parameter.name;
    }
    EXPECT_EQ(names.size(), model.parameters.size()) << library_name;
  }
}

TEST(Families, ImpossibleFiguresAreRefused) {
  struct Bad {
    const char* family;
    const char* hyper;
    const char* message;
  };
  const Bad rows[] = {
      {"llama",
       "hidden_size: 64, num_hidden_layers: 1, vocab_size: 9, intermediate_size: 8, "
       "num_attention_heads: 6, num_key_value_heads: 2, tie_word_embeddings: false",
       "6 heads do not divide the hidden size 64, and head_dim is not given"},
      {"llama",
       "hidden_size: 64, num_hidden_layers: 1, vocab_size: 9, intermediate_size: 8, "
       "num_attention_heads: 8, num_key_value_heads: 2",
       "the key tie_word_embeddings is missing"},
      {"bailing_v2",
       "hidden_size: 64, num_hidden_layers: 1, vocab_size: 9, intermediate_size: 8, "
       "num_attention_heads: 8, num_key_value_heads: 2, head_dim: 8, num_experts: 4, "
       "num_shared_experts: 0, moe_intermediate_size: 8, first_k_dense_replace: 0, "
       "num_nextn_predict_layers: 1",
       "num_nextn_predict_layers: the tensors of such a model are not known here; expected 0"},
      {"llama",
       "hidden_size: 64, num_hidden_layers: 1, vocab_size: 9, intermediate_size: 8, "
       "num_attention_heads: 8, num_key_value_heads: 2, tie_word_embeddings: false, "
       "mlp_bias: true",
       "mlp_bias: the tensors of such a model are not known here; expected false"},
      {"llama4",
       "hidden_size: 64, num_hidden_layers: 2, vocab_size: 9, intermediate_size: 8, "
       "num_attention_heads: 8, num_key_value_heads: 2, num_local_experts: 4, "
       "intermediate_size_mlp: 16, interleave_moe_layer_step: 2, moe_layers: [0]",
       "moe_layers[0]: moe_layers and interleave_moe_layer_step disagree"},
      {"deepseek_v3",
       "hidden_size: 64, num_hidden_layers: 1, vocab_size: 9, intermediate_size: 8, "
       "num_attention_heads: 8, num_key_value_heads: 2, first_k_dense_replace: 0, "
       "n_routed_experts: 4, n_shared_experts: 0, moe_intermediate_size: 8",
       "as many KV heads as query heads; found 2 and 8"},
  };
  for (const Bad& row : rows) {
    const std::string message = refusal([&] { model_of(row.family, row.hyper); });
    EXPECT_NE(message.find(row.message), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace transload
