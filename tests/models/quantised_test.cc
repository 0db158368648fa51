// Quantised checkpoints against the scale counts that facts/models.md states (sections 1.2, 2.7).
#include "models/quantised.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/models/small_models.h"

namespace transload {
namespace {

using Shape = std::vector<std::int64_t>;

std::vector<StoredTensor> stored(const Model& model, std::string_view format) {
  return quantised_tensors(model, quantised_format(format));
}

const StoredTensor& tensor_named(const std::vector<StoredTensor>& tensors,
                                 const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const StoredTensor& each) { return each.name == name; });
  if (found == tensors.end()) throw std::runtime_error("no tensor " + name);
  return *found;
}

void expect_tensor(const std::vector<StoredTensor>& tensors, const std::string& name, Shape shape,
                   DType dtype) {
  const StoredTensor& tensor = tensor_named(tensors, name);
  EXPECT_EQ(tensor.shape, shape) << name;
  EXPECT_EQ(tensor.dtype, dtype) << name << ": " << dtype_name(tensor.dtype);
}

TEST(Quantised, ScalesOfPublishedFp8Checkpoints) {
  const std::map<std::string, std::int64_t> published = {
      {"deepseek-v3", 41'540'496},  {"deepseek-v3.2", 41'591'584}, {"glm-5", 45'885'024},
      {"qwen3-30b-a3b", 1'824'768}, {"minimax-m2", 13'880'064},    {"qwen3-235b-a22b", 14'269'952},
      {"kimi-k2", 62'495'192},  // of Base
  };
  for (const auto& [name, scales] : published)
    EXPECT_EQ(scale_count(stored(load_library_model(name), "fp8-block128")), scales) << name;
}

TEST(Quantised, TypesOfDeepSeekAddUp) {
  // Published split: BF16 3,918,786,560, F8_E4M3 680,571,043,840, F32 41,555,600.
  std::map<DType, std::int64_t> elements;
  for (const StoredTensor& tensor : stored(load_library_model("deepseek-v3"), "fp8-block128"))
    elements[tensor.dtype] += element_count(tensor);
  EXPECT_EQ(elements[DType::kBF16], 3'918'786'560);
  EXPECT_EQ(elements[DType::kF8E4M3], 680'571'043'840);
  EXPECT_EQ(elements[DType::kF32], 41'555'600);
}

TEST(Quantised, Fp8BlocksByHand) {
  const auto tensors = stored(load_library_model("deepseek-v3"), "fp8-block128");
  const std::string layer = "model.layers.3.";
  // 576 rows: the fifth block has 64 of them.
  expect_tensor(tensors, layer + "self_attn.kv_a_proj_with_mqa.weight", {576, 7168},
                DType::kF8E4M3);
  expect_tensor(tensors, layer + "self_attn.kv_a_proj_with_mqa.weight_scale_inv", {5, 56},
                DType::kF32);
  expect_tensor(tensors, layer + "mlp.experts.0.down_proj.weight_scale_inv", {56, 16}, DType::kF32);
  for (const char* kept : {"model.embed_tokens.weight", "lm_head.weight",
                           "model.layers.3.mlp.gate.weight", "model.layers.61.eh_proj.weight"})
    expect_tensor(tensors, kept, parameter_named(load_library_model("deepseek-v3"), kept).shape,
                  DType::kBF16);
  const auto v32 = stored(load_library_model("deepseek-v3.2"), "fp8-block128");
  expect_tensor(v32, layer + "self_attn.indexer.wk.weight_scale_inv", {1, 56}, DType::kF32);
  expect_tensor(v32, layer + "self_attn.indexer.weights_proj.weight", {64, 7168}, DType::kBF16);
  // A scale stands right behind its values and names the same parameter.
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].role == TensorRole::kScale) {
      ASSERT_EQ(tensors[i - 1].role, TensorRole::kValues);
      ASSERT_EQ(tensors[i - 1].parameter, tensors[i].parameter);
    }
}

TEST(Quantised, RaggedBlocks) {
  // GLM-4.5-Air: 10944 dense channels are 85.5 blocks.
  const auto tensors = stored(load_library_model("glm-4.5-air"), "fp8-block128");
  expect_tensor(tensors, "model.layers.0.mlp.gate_proj.weight_scale_inv", {86, 32}, DType::kF32);
  expect_tensor(tensors, "model.layers.0.mlp.down_proj.weight_scale_inv", {32, 86}, DType::kF32);
  expect_tensor(tensors, "model.layers.0.self_attn.q_proj.bias", {12288}, DType::kBF16);
}

TEST(Quantised, Mxfp8ByHand) {
  const auto tensors = stored(load_library_model("qwen3-30b-a3b"), "mxfp8");
  expect_tensor(tensors, "model.layers.0.mlp.experts.5.up_proj.weight", {768, 2048},
                DType::kF8E4M3);
  expect_tensor(tensors, "model.layers.0.mlp.experts.5.up_proj.weight_scale", {768, 64},
                DType::kE8M0);
  expect_tensor(tensors, "model.layers.0.self_attn.o_proj.weight_scale", {2048, 128}, DType::kE8M0);
}

TEST(Quantised, Mxfp4OfKimiK3) {
  // 92 x 896 x 3 pairs: 497,052 text tensors are published.
  const auto tensors = stored(load_library_model("kimi-k3"), "mxfp4");
  EXPECT_EQ(tensors.size(), 497'052U);
  const std::string expert = "language_model.model.layers.1.block_sparse_moe.experts.0.";
  expect_tensor(tensors, expert + "w1.weight_packed", {3072, 1792}, DType::kU8);
  expect_tensor(tensors, expert + "w1.weight_scale", {3072, 112}, DType::kE8M0);
  expect_tensor(tensors, expert + "w2.weight_packed", {3584, 1536}, DType::kU8);
}

TEST(Quantised, Mxfp4OfGptOss) {
  const auto tensors = stored(load_library_model("gpt-oss-120b"), "mxfp4");
  EXPECT_EQ(tensors.size(), 687U);  // published
  const std::string experts = "model.layers.0.mlp.experts.";
  // [E, 2I, H/32, 16] and [E, H, I/32, 16]: transposed against the bf16 layout.
  expect_tensor(tensors, experts + "gate_up_proj_blocks", {128, 5760, 90, 16}, DType::kU8);
  expect_tensor(tensors, experts + "gate_up_proj_scales", {128, 5760, 90}, DType::kE8M0);
  expect_tensor(tensors, experts + "down_proj_blocks", {128, 2880, 90, 16}, DType::kU8);
  expect_tensor(tensors, experts + "gate_up_proj_bias", {128, 5760}, DType::kBF16);
}

TEST(Quantised, DeepSeekV4HasBothFormats) {
  const auto tensors = stored(load_library_model("deepseek-v4-flash"), "mxfp4-fp8");
  expect_tensor(tensors, "layers.0.ffn.experts.0.w1.weight", {2048, 2048}, DType::kU8);
  expect_tensor(tensors, "layers.0.ffn.experts.0.w1.scale", {2048, 128}, DType::kE8M0);
  expect_tensor(tensors, "layers.0.attn.wq_a.weight", {1024, 4096}, DType::kF8E4M3);
  expect_tensor(tensors, "layers.0.attn.wq_a.scale", {8, 32}, DType::kE8M0);
  expect_tensor(tensors, "layers.2.attn.compressor.wkv.weight", {1024, 4096}, DType::kBF16);
  expect_tensor(tensors, "layers.0.hc_attn_fn", {24, 16384}, DType::kF32);
}

TEST(Quantised, Nvfp4ByHand) {
  const auto tensors = stored(tiny_deepseek(), "nvfp4");
  const std::string expert = "model.layers.2.mlp.experts.0.up_proj.";
  expect_tensor(tensors, expert + "weight_packed", {32, 32}, DType::kU8);
  expect_tensor(tensors, expert + "weight_scale", {32, 4}, DType::kF8E4M3);
  expect_tensor(tensors, expert + "weight_global_scale", {1}, DType::kF32);
  expect_tensor(tensors, "model.layers.2.self_attn.o_proj.weight", {64, 32}, DType::kBF16);
}

TEST(Quantised, RaggedGroupsAreRefused) {
  // q_lora_rank 24 is less than a group of 32.
  const std::string message = refusal([] { stored(tiny_deepseek(), "mxfp8"); });
  EXPECT_NE(message.find("self_attn.q_b_proj.weight"), std::string::npos) << message;
  EXPECT_NE(message.find("24 columns do not divide into groups of 32"), std::string::npos);
}

TEST(Quantised, UnknownFormatsAreRefused) {
  const std::string message = refusal([] { quantised_format("fp8-block-128"); });
  EXPECT_NE(message.find("did you mean fp8-block128?"), std::string::npos) << message;
}

}  // namespace
}  // namespace transload
