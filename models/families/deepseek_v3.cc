// The DeepSeek-V3 family: DeepSeek-V3, R1 and V3.1, Kimi-K2.
#include <fmt/format.h>

#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {
namespace {

struct Shape {
  std::int64_t hidden;
  std::int64_t dense_layers;  // the first ones, without experts
  std::int64_t dense_width;
  std::int64_t expert_width;
  std::int64_t shared_width;  // the shared experts are stored as one wide one; 0: none
  std::int64_t q_rank;
  std::int64_t kv_rank;
  std::int64_t nope_dim;
  std::int64_t rope_dim;
  std::int64_t value_dim;
  bool mtp_copies;
};

Shape read_shape(YamlMap& hyper, Model& model) {
  model.layers = hyper_parameter(hyper, "num_hidden_layers", kMaxLayers);
  model.query_heads = hyper_parameter(hyper, "num_attention_heads", kMaxHeads);
  model.kv_heads = model.query_heads;
  model.experts = hyper_parameter(hyper, "n_routed_experts", kMaxExperts);
  model.vocabulary = hyper_parameter(hyper, "vocab_size", kMaxVocabulary);
  model.mtp_layers = hyper_parameter(hyper, "num_nextn_predict_layers", 0, kMaxMtpLayers);

  Shape shape{};
  shape.hidden = hyper_parameter(hyper, "hidden_size", kMaxHidden);
  shape.dense_layers = hyper_parameter(hyper, "first_k_dense_replace", 0, kMaxLayers);
  if (shape.dense_layers > model.layers)
    hyper.required("first_k_dense_replace")
        .fail(fmt::format("{} dense layers are more than the {} layers", shape.dense_layers,
                          model.layers));
  shape.dense_width = hyper_parameter(hyper, "intermediate_size", kMaxWidth);
  shape.expert_width = hyper_parameter(hyper, "moe_intermediate_size", kMaxWidth);
  shape.shared_width =
      hyper_parameter(hyper, "n_shared_experts", 0, kMaxSharedExperts) * shape.expert_width;
  shape.q_rank = hyper_parameter(hyper, "q_lora_rank", kMaxWidth);
  shape.kv_rank = hyper_parameter(hyper, "kv_lora_rank", kMaxWidth);
  shape.nope_dim = hyper_parameter(hyper, "qk_nope_head_dim", kMaxHeadDim);
  shape.rope_dim = hyper_parameter(hyper, "qk_rope_head_dim", kMaxHeadDim);
  shape.value_dim = hyper_parameter(hyper, "v_head_dim", kMaxHeadDim);
  // No key of config.json says this, and checkpoints of the family differ, so it is never guessed.
  if (model.mtp_layers > 0) shape.mtp_copies = hyper.required("mtp_stores_copies").boolean();
  return shape;
}

void add_attention(ParameterBuilder& add, const Shape& shape, std::int64_t heads) {
  const std::int64_t hidden = shape.hidden;
  add.add("input_layernorm.weight", {hidden}, ParameterKind::kNorm);
  add.add("self_attn.q_a_proj.weight", {shape.q_rank, hidden}, ParameterKind::kMlaDown);
  add.add("self_attn.q_a_layernorm.weight", {shape.q_rank}, ParameterKind::kNorm);
  add.add("self_attn.q_b_proj.weight", {heads * (shape.nope_dim + shape.rope_dim), shape.q_rank},
          ParameterKind::kMlaUp);
  add.add("self_attn.kv_a_proj_with_mqa.weight", {shape.kv_rank + shape.rope_dim, hidden},
          ParameterKind::kMlaDown);
  add.add("self_attn.kv_a_layernorm.weight", {shape.kv_rank}, ParameterKind::kNorm);
  add.add("self_attn.kv_b_proj.weight", {heads * (shape.nope_dim + shape.value_dim), shape.kv_rank},
          ParameterKind::kMlaUp);
  add.add("self_attn.o_proj.weight", {hidden, heads * shape.value_dim}, ParameterKind::kAttentionO);
  add.add("post_attention_layernorm.weight", {hidden}, ParameterKind::kNorm);
}

void add_sparse_mlp(ParameterBuilder& add, const Shape& shape, std::int64_t experts) {
  add.add("mlp.gate.weight", {experts, shape.hidden}, ParameterKind::kRouter);
  add.add_fp32("mlp.gate.e_score_correction_bias", {experts}, ParameterKind::kRouterBias);
  add.add_experts(experts, shape.hidden, shape.expert_width);
  if (shape.shared_width > 0) add.add_mlp("mlp.shared_experts", shape.hidden, shape.shared_width);
}

void add_prediction_layer(ParameterBuilder& add, const Shape& shape, const Model& model) {
  const std::int64_t hidden = shape.hidden;
  if (shape.mtp_copies)
    add.add_copy("embed_tokens.weight", {model.vocabulary, hidden}, ParameterKind::kEmbedding);
  add.add("enorm.weight", {hidden}, ParameterKind::kNorm);
  add.add("hnorm.weight", {hidden}, ParameterKind::kNorm);
  add.add("eh_proj.weight", {hidden, 2 * hidden}, ParameterKind::kMtpProjection);
  add_attention(add, shape, model.query_heads);
  add_sparse_mlp(add, shape, model.experts);
  add.add("shared_head.norm.weight", {hidden}, ParameterKind::kNorm);
  if (shape.mtp_copies)
    add.add_copy("shared_head.head.weight", {model.vocabulary, hidden}, ParameterKind::kOutput);
}

}  // namespace

void build_deepseek_v3(YamlMap& hyper, Model& model) {
  const Shape shape = read_shape(hyper, model);
  hyper.finish();
  reserve_parameters(hyper, model, model.layers - shape.dense_layers + model.mtp_layers);

  ParameterBuilder add(model);
  add.add("model.embed_tokens.weight", {model.vocabulary, shape.hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_attention(add, shape, model.query_heads);
    if (layer < shape.dense_layers)
      add.add_mlp("mlp", shape.hidden, shape.dense_width);
    else
      add_sparse_mlp(add, shape, model.experts);
  }
  add.leave_layers();
  add.add("model.norm.weight", {shape.hidden}, ParameterKind::kNorm);
  add.add("lm_head.weight", {model.vocabulary, shape.hidden}, ParameterKind::kOutput);
  for (std::int64_t layer = 0; layer < model.mtp_layers; ++layer) {
    add.enter_layer(model.layers + layer, ModelPart::kMtp);
    add_prediction_layer(add, shape, model);
  }
}

}  // namespace transload
