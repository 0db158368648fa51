// The same for families whose layers differ from one another: Qwen3.5, DeepSeek-V4, Nemotron 3 and
// Kimi-K3, from facts/models.md sections 2.5 and 2.6.
#include <gtest/gtest.h>

#include "tests/models/expected_parameters.h"

namespace transload {
namespace {

using enum ParameterKind;

TEST(HybridFamilies, DeepSeekV4ByHand) {
  const Model model = load_library_model("deepseek-v4-pro");
  expect_parameters(model,
                    {{"embed.weight", {129280, 7168}, kEmbedding},
                     {"layers.0.attn.wq_a.weight", {1536, 7168}, kMlaQueryDown, 0},
                     {"layers.0.attn.wq_b.weight", {128 * 512, 1536}, kMlaQueryUp, 0},
                     {"layers.0.attn.wkv.weight", {512, 7168}, kMlaKvDown, 0},
                     {"layers.0.attn.wo_a.weight", {16 * 1024, 128 * 512 / 16}, kGroupedOutDown, 0},
                     {"layers.0.attn.wo_b.weight", {7168, 16 * 1024}, kGroupedOutUp, 0},
                     {"layers.0.attn.attn_sink", {128}, kSinks, 0},
                     // Ratio 128 in layer 0, ratio 4 in layer 2: twice the rows, and an indexer.
                     {"layers.0.attn.compressor.wkv.weight", {512, 7168}, kIndexer, 0},
                     {"layers.0.attn.compressor.ape", {128, 512}, kIndexer, 0},
                     {"layers.2.attn.compressor.wgate.weight", {1024, 7168}, kIndexer, 2},
                     {"layers.2.attn.compressor.ape", {4, 1024}, kIndexer, 2},
                     {"layers.2.attn.compressor.norm.weight", {512}, kIndexer, 2},
                     {"layers.2.attn.indexer.wq_b.weight", {64 * 128, 1536}, kIndexer, 2},
                     {"layers.2.attn.indexer.weights_proj.weight", {64, 7168}, kIndexer, 2},
                     {"layers.2.attn.indexer.compressor.wkv.weight", {256, 7168}, kIndexer, 2},
                     {"layers.2.ffn.gate.tid2eid", {129280, 6}, kRouterBias, 2},
                     {"layers.3.ffn.gate.bias", {384}, kRouterBias, 3},
                     {"layers.3.ffn.experts.383.w2.weight", {7168, 3072}, kExpertDown, 3, 383},
                     {"layers.3.ffn.experts.0.w3.weight", {3072, 7168}, kExpertUp, 3, 0},
                     {"layers.3.ffn.shared_experts.w1.weight", {3072, 7168}, kSharedGate, 3},
                     {"layers.3.hc_attn_fn", {24, 4 * 7168}, kHyperConnection, 3},
                     {"layers.3.hc_ffn_base", {24}, kHyperConnection, 3},
                     {"layers.3.hc_ffn_scale", {3}, kHyperConnection, 3},
                     {"hc_head_fn", {4, 4 * 7168}, kHyperConnection},
                     {"mtp.0.e_proj.weight", {7168, 7168}, kMtpProjection, 61},
                     {"mtp.0.ffn.gate.bias", {384}, kRouterBias, 61},
                     {"mtp.0.hc_head_scale", {1}, kHyperConnection, 61},
                     {"head.weight", {129280, 7168}, kOutput}});
  EXPECT_EQ(parameter_named(model, "layers.2.ffn.gate.tid2eid").part, ModelPart::kBuffer);
  EXPECT_EQ(parameter_named(model, "layers.2.ffn.gate.tid2eid").dtype, DType::kI64);
  EXPECT_EQ(parameter_named(model, "layers.3.hc_attn_fn").dtype, DType::kF32);
  EXPECT_THROW(parameter_named(model, "layers.3.ffn.gate.tid2eid"), std::runtime_error);
  EXPECT_THROW(parameter_named(model, "layers.3.attn.indexer.wq_b.weight"), std::runtime_error);
}

TEST(HybridFamilies, Qwen35ByHand) {
  const Model model = load_library_model("qwen3.5-397b-a17b");
  expect_parameters(
      model,
      {{"model.language_model.embed_tokens.weight", {248320, 4096}, kEmbedding},
       {"lm_head.weight", {248320, 4096}, kOutput},
       // Layer 3 is the first with full attention.
       {"model.language_model.layers.3.self_attn.q_proj.weight", {16384, 4096}, kAttentionQ, 3},
       {"model.language_model.layers.3.self_attn.k_proj.weight", {512, 4096}, kAttentionK, 3},
       {"model.language_model.layers.3.self_attn.q_norm.weight", {256}, kHeadNorm, 3},
       {"model.language_model.layers.0.linear_attn.in_proj_qkv.weight",
        {2 * 2048 + 8192, 4096},
        kGdnQ,
        0},
       {"model.language_model.layers.0.linear_attn.in_proj_z.weight", {8192, 4096}, kGdnZ, 0},
       {"model.language_model.layers.0.linear_attn.in_proj_b.weight", {64, 4096}, kGdnB, 0},
       {"model.language_model.layers.0.linear_attn.in_proj_a.weight", {64, 4096}, kGdnA, 0},
       {"model.language_model.layers.0.linear_attn.conv1d.weight", {12288, 1, 4}, kGdnConvQ, 0},
       {"model.language_model.layers.0.linear_attn.A_log", {64}, kGdnALog, 0},
       {"model.language_model.layers.0.linear_attn.dt_bias", {64}, kGdnHead, 0},
       {"model.language_model.layers.0.linear_attn.norm.weight", {128}, kGdnNorm, 0},
       {"model.language_model.layers.0.linear_attn.out_proj.weight", {4096, 8192}, kGdnOut, 0},
       {"model.language_model.layers.0.mlp.experts.gate_up_proj",
        {512, 2048, 4096},
        kExpertGate,
        0},
       {"model.language_model.layers.0.mlp.experts.down_proj", {512, 4096, 1024}, kExpertDown, 0},
       {"model.language_model.layers.0.mlp.shared_expert.up_proj.weight",
        {1024, 4096},
        kSharedUp,
        0},
       {"model.language_model.layers.0.mlp.shared_expert_gate.weight",
        {1, 4096},
        kSharedExpertGate,
        0},
       {"model.visual.patch_embed.proj.weight", {1152, 3, 2, 16, 16}, kVision},
       {"model.visual.blocks.26.attn.qkv.weight", {3456, 1152}, kVision},
       {"model.visual.merger.linear_fc2.weight", {4096, 4608}, kVision},
       {"mtp.fc.weight", {4096, 8192}, kMtpProjection, 60},
       {"mtp.pre_fc_norm_embedding.weight", {4096}, kNorm, 60},
       {"mtp.layers.0.self_attn.o_proj.weight", {4096, 8192}, kAttentionO, 60},
       {"mtp.norm.weight", {4096}, kNorm, 60}});
  EXPECT_EQ(model.gdn_key_heads, 16);
  EXPECT_EQ(model.gdn_value_heads, 64);
  EXPECT_EQ(model.kv_heads, 2);
  // Text only: no prefix.
  EXPECT_NO_THROW(parameter_named(load_library_model("qwen3.8-2.4t-a95b"),
                                  "model.layers.91.mlp.experts.down_proj"));
}

TEST(HybridFamilies, Qwen35ReadsLayerTypes) {
  const std::string shape =
      "hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, num_key_value_heads: 2, "
      "head_dim: 8, linear_num_key_heads: 2, linear_num_value_heads: 4, linear_key_head_dim: 8, "
      "linear_value_head_dim: 8, linear_conv_kernel_dim: 4, intermediate_size: 96, "
      "vocab_size: 1000";
  const Model model =
      model_of("qwen35", shape + ", layer_types: [full_attention, linear_attention]");
  EXPECT_NO_THROW(parameter_named(model, "model.layers.0.self_attn.q_proj.weight"));
  EXPECT_NO_THROW(parameter_named(model, "model.layers.1.linear_attn.A_log"));
  const auto message = [&](const std::string& more) {
    return refusal([&] { model_of("qwen35", shape + more); });
  };
  EXPECT_NE(message("").find("expected full_attention_interval, or layer_types"),
            std::string::npos);
  EXPECT_NE(message(", layer_types: [full_attention]").find("1 types for 2 layers"),
            std::string::npos);
  EXPECT_NE(message(", full_attention_interval: 2, layer_types: [full_attention, "
                    "linear_attention]")
                .find("disagree"),
            std::string::npos);
}

TEST(HybridFamilies, NemotronByHand) {
  const Model model = load_library_model("nemotron-3-super");
  expect_parameters(
      model,
      {{"backbone.embeddings.weight", {131072, 4096}, kEmbedding},
       {"backbone.norm_f.weight", {4096}, kNorm},
       // M: 128 heads of 64, 8 groups of 128: 2 x 8192 + 2 x 1024 + 128 rows.
       {"backbone.layers.0.norm.weight", {4096}, kNorm, 0},
       {"backbone.layers.0.mixer.in_proj.weight", {18560, 4096}, kMambaZ, 0},
       {"backbone.layers.0.mixer.conv1d.weight", {10240, 1, 4}, kMambaConvX, 0},
       {"backbone.layers.0.mixer.conv1d.bias", {10240}, kMambaConvX, 0},
       {"backbone.layers.0.mixer.A_log", {128}, kMambaALog, 0},
       {"backbone.layers.0.mixer.D", {128}, kMambaHead, 0},
       {"backbone.layers.0.mixer.norm.weight", {8192}, kMambaNorm, 0},
       {"backbone.layers.0.mixer.out_proj.weight", {4096, 8192}, kMambaOut, 0},
       {"backbone.layers.7.mixer.k_proj.weight", {256, 4096}, kAttentionK, 7},
       {"backbone.layers.1.mixer.gate.weight", {512, 4096}, kRouter, 1},
       {"backbone.layers.1.mixer.gate.e_score_correction_bias", {512}, kRouterBias, 1},
       {"backbone.layers.1.mixer.experts.511.up_proj.weight", {2688, 1024}, kExpertUp, 1, 511},
       {"backbone.layers.1.mixer.experts.511.down_proj.weight", {1024, 2688}, kExpertDown, 1, 511},
       {"backbone.layers.1.mixer.shared_experts.up_proj.weight", {5376, 4096}, kSharedUp, 1},
       {"backbone.layers.1.mixer.fc1_latent_proj.weight", {1024, 4096}, kLatentProjection, 1},
       {"backbone.layers.1.mixer.fc2_latent_proj.weight", {4096, 1024}, kLatentProjection, 1},
       {"mtp.layers.0.eh_proj.weight", {4096, 8192}, kMtpProjection, 88},
       {"mtp.layers.0.mixer.q_proj.weight", {4096, 4096}, kAttentionQ, 88},
       {"mtp.layers.1.mixer.gate.weight", {512, 4096}, kRouter, 88},
       {"mtp.layers.1.final_layernorm.weight", {4096}, kNorm, 88}});
  EXPECT_EQ(model.mamba_heads, 128);
  EXPECT_EQ(model.mamba_groups, 8);
  EXPECT_EQ(model.mtp_layers, 1);
}

TEST(HybridFamilies, NemotronPatterns) {
  const std::string shape =
      "hidden_size: 64, num_attention_heads: 4, num_key_value_heads: 2, head_dim: 8, "
      "vocab_size: 1000, intermediate_size: 96, num_hidden_layers: 2, hybrid_override_pattern: ";
  const Model model = model_of("nemotron_h", shape + "\"*-\"");
  expect_parameters(model, {{"backbone.layers.1.mixer.up_proj.weight", {96, 64}, kMlpUp, 1}});
  EXPECT_EQ(model.mamba_heads, 0);
  EXPECT_NE(
      refusal([&] { model_of("nemotron_h", shape + "\"*-*\""); }).find("3 letters for 2 layers"),
      std::string::npos);
  EXPECT_NE(refusal([&] { model_of("nemotron_h", shape + "\"*X\""); }).find("found 'X'"),
            std::string::npos);
  EXPECT_NE(
      refusal([&] { model_of("nemotron_h", shape + "\"*M\""); }).find("mamba_num_heads is missing"),
      std::string::npos);
}

TEST(HybridFamilies, KimiK3ByHand) {
  const Model model = load_library_model("kimi-k3");
  expect_parameters(
      model,
      {{"language_model.model.layers.0.self_attn.q_proj.weight", {12288, 7168}, kKdaRows, 0},
       {"language_model.model.layers.0.self_attn.v_conv1d.weight", {12288, 1, 4}, kKdaRows, 0},
       {"language_model.model.layers.0.self_attn.f_a_proj.weight", {128, 7168}, kNorm, 0},
       {"language_model.model.layers.0.self_attn.f_b_proj.weight", {12288, 128}, kKdaRows, 0},
       {"language_model.model.layers.0.self_attn.b_proj.weight", {96, 7168}, kKdaRows, 0},
       {"language_model.model.layers.0.self_attn.g_proj.weight", {12288, 7168}, kKdaRows, 0},
       {"language_model.model.layers.0.self_attn.A_log", {128}, kKdaRows, 0},
       {"language_model.model.layers.0.self_attn.dt_bias", {12288}, kKdaRows, 0},
       {"language_model.model.layers.0.self_attn.o_norm.weight", {128}, kHeadNorm, 0},
       {"language_model.model.layers.0.self_attn.o_proj.weight", {7168, 12288}, kKdaOut, 0},
       {"language_model.model.layers.0.mlp.down_proj.weight", {7168, 33792}, kMlpDown, 0},
       {"language_model.model.layers.0.self_attention_res_proj.weight",
        {1, 7168},
        kHyperConnection,
        0},
       // The fourth layer is the first with latent attention; the last one is another.
       {"language_model.model.layers.3.self_attn.g_proj.weight", {12288, 7168}, kMlaGate, 3},
       {"language_model.model.layers.92.self_attn.kv_b_proj.weight", {24576, 512}, kMlaKvUp, 92},
       {"language_model.model.layers.3.block_sparse_moe.gate.weight", {896, 7168}, kRouter, 3},
       {"language_model.model.layers.3.block_sparse_moe.routed_expert_down_proj.weight",
        {3584, 7168},
        kLatentProjection,
        3},
       {"language_model.model.layers.3.block_sparse_moe.routed_expert_norm.weight",
        {3584},
        kNorm,
        3},
       {"language_model.model.layers.3.block_sparse_moe.experts.895.w2.weight",
        {3584, 3072},
        kExpertDown,
        3,
        895},
       {"language_model.model.layers.3.block_sparse_moe.shared_experts.up_proj.weight",
        {6144, 7168},
        kSharedUp,
        3},
       {"language_model.model.output_attn_res_norm.weight", {7168}, kHyperConnection},
       {"language_model.lm_head.weight", {163840, 7168}, kOutput}});
  EXPECT_EQ(model.kda_heads, 96);
}

TEST(HybridFamilies, KimiK3LayersStandInOneListEach) {
  const auto message = [](const std::string& lists) {
    return refusal([&] {
      model_of("kimi_k3",
               "hidden_size: 64, num_hidden_layers: 3, first_k_dense_replace: 1, "
               "intermediate_size: 96, moe_intermediate_size: 32, num_experts: 4, "
               "num_shared_experts: 1, num_attention_heads: 8, q_lora_rank: 24, kv_lora_rank: 16, "
               "qk_nope_head_dim: 6, qk_rope_head_dim: 2, v_head_dim: 4, vocab_size: 1000, "
               "linear_attn_config: {num_heads: 8, head_dim: 8, short_conv_kernel_size: 4, " +
                   lists + "}");
    });
  };
  EXPECT_EQ(message("kda_layers: [1, 3], full_attn_layers: [2]"), "");
  EXPECT_NE(message("kda_layers: [1], full_attn_layers: [2]").find("layer 3 is in neither"),
            std::string::npos);
  EXPECT_NE(message("kda_layers: [1, 2, 3], full_attn_layers: [2]").find("layer 2 stands twice"),
            std::string::npos);
}

}  // namespace
}  // namespace transload
