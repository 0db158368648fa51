// Qwen3 mixture of experts: Qwen3-30B-A3B, Qwen3-235B-A22B and their kin.
#include <fmt/format.h>

#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {
namespace {

struct Shape {
  std::int64_t hidden;
  std::int64_t query_rows;  // query heads x head_dim
  std::int64_t kv_rows;
  std::int64_t head_dim;
  std::int64_t expert_width;
};

Shape read_shape(YamlMap& hyper, Model& model) {
  model.layers = hyper_parameter(hyper, "num_hidden_layers", kMaxLayers);
  model.query_heads = hyper_parameter(hyper, "num_attention_heads", kMaxHeads);
  model.kv_heads = hyper_parameter(hyper, "num_key_value_heads", kMaxHeads);
  model.experts = hyper_parameter(hyper, "num_experts", kMaxExperts);
  model.vocabulary = hyper_parameter(hyper, "vocab_size", kMaxVocabulary);
  if (model.query_heads % model.kv_heads != 0)
    hyper.required("num_key_value_heads")
        .fail(fmt::format("{} KV heads do not divide the {} query heads", model.kv_heads,
                          model.query_heads));
  Shape shape{};
  shape.hidden = hyper_parameter(hyper, "hidden_size", kMaxHidden);
  // Not hidden / heads: Qwen3 chooses the two apart (2048 and 32 x 128 in the 30B model).
  shape.head_dim = hyper_parameter(hyper, "head_dim", kMaxHeadDim);
  shape.query_rows = model.query_heads * shape.head_dim;
  shape.kv_rows = model.kv_heads * shape.head_dim;
  shape.expert_width = hyper_parameter(hyper, "moe_intermediate_size", kMaxWidth);
  return shape;
}

void add_layer(ParameterBuilder& add, const Shape& shape, std::int64_t experts) {
  const std::int64_t hidden = shape.hidden;
  add.add("input_layernorm.weight", {hidden}, ParameterKind::kNorm);
  add.add("self_attn.q_proj.weight", {shape.query_rows, hidden}, ParameterKind::kAttentionQ);
  add.add("self_attn.k_proj.weight", {shape.kv_rows, hidden}, ParameterKind::kAttentionKV);
  add.add("self_attn.v_proj.weight", {shape.kv_rows, hidden}, ParameterKind::kAttentionKV);
  add.add("self_attn.o_proj.weight", {hidden, shape.query_rows}, ParameterKind::kAttentionO);
  add.add("self_attn.q_norm.weight", {shape.head_dim}, ParameterKind::kHeadNorm);
  add.add("self_attn.k_norm.weight", {shape.head_dim}, ParameterKind::kHeadNorm);
  add.add("post_attention_layernorm.weight", {hidden}, ParameterKind::kNorm);
  add.add("mlp.gate.weight", {experts, hidden}, ParameterKind::kRouter);
  add.add_experts(experts, hidden, shape.expert_width);
}

}  // namespace

void build_qwen3_moe(YamlMap& hyper, Model& model) {
  const Shape shape = read_shape(hyper, model);
  hyper.finish();
  reserve_parameters(hyper, model, model.layers);

  ParameterBuilder add(model);
  add.add("model.embed_tokens.weight", {model.vocabulary, shape.hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_layer(add, shape, model.experts);
  }
  add.leave_layers();
  add.add("model.norm.weight", {shape.hidden}, ParameterKind::kNorm);
  add.add("lm_head.weight", {model.vocabulary, shape.hidden}, ParameterKind::kOutput);
}

}  // namespace transload
