// Qwen3.5, 3.6 and 3.8: three layers in four are gated delta nets, every fourth is attention with
// an output gate; feed-forward layers are dense or experts beside a gated shared expert.
#include <fmt/format.h>

#include <vector>

#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"
#include "models/families/qwen_vision.h"

namespace transload {
namespace {

struct DeltaNet {
  std::int64_t key_rows = 0;  // key heads x key head dimension: rows of q, and of k
  std::int64_t value_rows = 0;
  std::int64_t value_heads = 0;
  std::int64_t value_dim = 0;
  std::int64_t kernel = 0;
  Fusion in_proj;
  Fusion conv;
};

struct Experts {
  std::int64_t count = 0;  // 0: feed-forward layers are dense
  std::int64_t width = 0;
  std::int64_t shared_width = 0;
  Fusion gate_up;
};

struct Shape {
  std::int64_t hidden = 0;
  std::int64_t dense_width = 0;
  std::vector<bool> full_attention;  // per layer
  GroupedQueryAttention attention;
  Fusion query_gate;
  DeltaNet delta;
  Experts experts;
  bool mtp_packed = false;  // prediction layers store their experts stacked, as the others do
};

std::vector<bool> read_layer_types(YamlMap& hyper, const Model& model) {
  std::vector<bool> full(static_cast<std::size_t>(model.layers));
  const auto types = given(hyper, "layer_types");
  const auto interval = given(hyper, "full_attention_interval");
  if (!types && !interval)
    hyper.fail("expected full_attention_interval, or layer_types with one word per layer");
  if (interval) {
    const std::int64_t every = interval->integer_in(1, kMaxLayers);
    for (std::size_t layer = 0; layer < full.size(); ++layer)
      full[layer] = (static_cast<std::int64_t>(layer) + 1) % every == 0;
  }
  if (!types) return full;
  const std::vector<YamlValue> words = types->list();
  if (words.size() != full.size())
    types->fail(fmt::format("{} types for {} layers", words.size(), full.size()));
  for (std::size_t layer = 0; layer < full.size(); ++layer) {
    const bool is_full =
        words[layer].word_of({"full_attention", "linear_attention"}) == "full_attention";
    if (interval && is_full != full[layer])
      words[layer].fail("layer_types and full_attention_interval disagree");
    full[layer] = is_full;
  }
  return full;
}

DeltaNet read_delta_net(YamlMap& hyper, Model& model) {
  using enum ParameterKind;
  model.gdn_key_heads = hyper_parameter(hyper, "linear_num_key_heads", kMaxHeads);
  model.gdn_value_heads = hyper_parameter(hyper, "linear_num_value_heads", kMaxHeads);
  if (model.gdn_value_heads % model.gdn_key_heads != 0)
    hyper.required("linear_num_key_heads")
        .fail(fmt::format("{} key heads do not divide the {} value heads", model.gdn_key_heads,
                          model.gdn_value_heads));
  DeltaNet delta;
  delta.key_rows = model.gdn_key_heads * hyper_parameter(hyper, "linear_key_head_dim", kMaxHeadDim);
  delta.value_dim = hyper_parameter(hyper, "linear_value_head_dim", kMaxHeadDim);
  delta.value_heads = model.gdn_value_heads;
  delta.value_rows = delta.value_heads * delta.value_dim;
  delta.kernel = hyper_parameter(hyper, "linear_conv_kernel_dim", kMaxKernel);
  delta.in_proj = {.pieces = {{"q", kGdnQ, delta.key_rows},
                              {"k", kGdnK, delta.key_rows},
                              {"v", kGdnV, delta.value_rows}}};
  delta.conv = {.pieces = {{"q", kGdnConvQ, delta.key_rows},
                           {"k", kGdnConvK, delta.key_rows},
                           {"v", kGdnConvV, delta.value_rows}}};
  return delta;
}

Experts read_experts(YamlMap& hyper, Model& model) {
  using enum ParameterKind;
  Experts experts;
  experts.count = model.experts = hyper_parameter_or(hyper, "num_experts", 0, 0, kMaxExperts);
  if (experts.count == 0) return experts;
  experts.width = hyper_parameter(hyper, "moe_intermediate_size", kMaxWidth);
  experts.shared_width = hyper_parameter(hyper, "shared_expert_intermediate_size", kMaxWidth);
  experts.gate_up = {
      .experts = true,
      .dim = 1,
      .pieces = {{"gate", kExpertGate, experts.width}, {"up", kExpertUp, experts.width}}};
  return experts;
}

Shape read_shape(YamlMap& hyper, Model& model) {
  Shape shape;
  shape.hidden = read_sizes(hyper, model);
  shape.full_attention = read_layer_types(hyper, model);
  shape.attention = read_grouped_query_attention(hyper, model, shape.hidden, HeadDimRule::kStated);
  shape.attention.norms = HeadNorms::kPerHead;
  expect_flag(hyper, "attn_output_gate", true);
  expect_flag(hyper, "attention_bias", false);
  // Rows of q_proj: for each head its query, then its gate.
  shape.query_gate = {.groups = model.query_heads,
                      .pieces = {{"q", ParameterKind::kAttentionQ, model.head_dim},
                                 {"gate", ParameterKind::kAttentionGate, model.head_dim}}};
  shape.delta = read_delta_net(hyper, model);
  shape.experts = read_experts(hyper, model);
  shape.dense_width = shape.experts.count == 0
                          ? hyper_parameter(hyper, "intermediate_size", kMaxWidth)
                          : hyper_parameter_or(hyper, "intermediate_size", 0, 1, kMaxWidth);
  model.mtp_layers = hyper_parameter_or(hyper, "mtp_num_hidden_layers", 0, 0, kMaxMtpLayers);
  // Qwen3.5 stores them one by one and 3.6 stacked, under the same config.json keys.
  if (model.mtp_layers > 0 && shape.experts.count > 0)
    shape.mtp_packed = hyper.required("mtp_stores_packed_experts").boolean();
  return shape;
}

void add_attention(ParameterBuilder& add, const Shape& shape) {
  using enum ParameterKind;
  const GroupedQueryAttention& attention = shape.attention;
  const std::int64_t hidden = shape.hidden;
  add.add_fused("self_attn.q_proj.weight", {2 * attention.query_rows, hidden}, shape.query_gate);
  add.add("self_attn.k_proj.weight", {attention.kv_rows, hidden}, kAttentionK);
  add.add("self_attn.v_proj.weight", {attention.kv_rows, hidden}, kAttentionV);
  add.add("self_attn.o_proj.weight", {hidden, attention.query_rows}, kAttentionO);
  add.add("self_attn.q_norm.weight", {attention.head_dim}, kHeadNorm);
  add.add("self_attn.k_norm.weight", {attention.head_dim}, kHeadNorm);
}

void add_delta_net(ParameterBuilder& add, const Shape& shape) {
  using enum ParameterKind;
  const DeltaNet& delta = shape.delta;
  const std::int64_t hidden = shape.hidden;
  const std::int64_t channels = 2 * delta.key_rows + delta.value_rows;
  add.add("linear_attn.dt_bias", {delta.value_heads}, kGdnHead);
  add.add_fp32("linear_attn.A_log", {delta.value_heads}, kGdnALog);
  add.add_fused("linear_attn.conv1d.weight", {channels, 1, delta.kernel}, delta.conv);
  add.add_fp32("linear_attn.norm.weight", {delta.value_dim}, kGdnNorm);
  add.add("linear_attn.out_proj.weight", {hidden, delta.value_rows}, kGdnOut);
  add.add_fused("linear_attn.in_proj_qkv.weight", {channels, hidden}, delta.in_proj);
  add.add("linear_attn.in_proj_z.weight", {delta.value_rows, hidden}, kGdnZ);
  add.add("linear_attn.in_proj_b.weight", {delta.value_heads, hidden}, kGdnB);
  add.add("linear_attn.in_proj_a.weight", {delta.value_heads, hidden}, kGdnA);
}

void add_feed_forward(ParameterBuilder& add, const Shape& shape, bool packed) {
  using enum ParameterKind;
  const Experts& experts = shape.experts;
  const std::int64_t hidden = shape.hidden;
  if (experts.count == 0) return add.add_mlp("mlp", hidden, shape.dense_width, MlpUse::kDense);
  add.add("mlp.gate.weight", {experts.count, hidden}, kRouter);
  if (packed) {
    // Halves, not alternating; output-major, as single matrices are.
    add.add_fused("mlp.experts.gate_up_proj", {experts.count, 2 * experts.width, hidden},
                  experts.gate_up);
    add.add_fused("mlp.experts.down_proj", {experts.count, hidden, experts.width},
                  {.experts = true, .dim = 1}, kExpertDown);
  } else {
    add.add_experts("mlp.experts", experts.count, hidden, experts.width);
  }
  add.add_mlp("mlp.shared_expert", hidden, experts.shared_width, MlpUse::kShared);
  add.add("mlp.shared_expert_gate.weight", {1, hidden}, kSharedExpertGate);
}

void add_layer(ParameterBuilder& add, const Shape& shape, bool full_attention, bool packed) {
  add.add("input_layernorm.weight", {shape.hidden}, ParameterKind::kNorm);
  if (full_attention)
    add_attention(add, shape);
  else
    add_delta_net(add, shape);
  add.add("post_attention_layernorm.weight", {shape.hidden}, ParameterKind::kNorm);
  add_feed_forward(add, shape, packed);
}

void add_prediction_layers(ParameterBuilder& add, const Shape& shape, const Model& model) {
  using enum ParameterKind;
  if (model.mtp_layers == 0) return;
  const std::int64_t hidden = shape.hidden;
  add.enter("mtp.", model.layers, ModelPart::kMtp);
  add.add("fc.weight", {hidden, 2 * hidden}, kMtpProjection);
  add.add("pre_fc_norm_embedding.weight", {hidden}, kNorm);
  add.add("pre_fc_norm_hidden.weight", {hidden}, kNorm);
  for (std::int64_t layer = 0; layer < model.mtp_layers; ++layer) {
    add.enter(fmt::format("mtp.layers.{}.", layer), model.layers + layer, ModelPart::kMtp);
    add_layer(add, shape, true, shape.mtp_packed);
  }
  add.enter("mtp.", model.layers + model.mtp_layers - 1, ModelPart::kMtp);
  add.add("norm.weight", {hidden}, kNorm);
}

}  // namespace

void build_qwen35(YamlMap& hyper, Model& model) {
  const Shape shape = read_shape(hyper, model);
  const auto vision = read_qwen_vision(hyper, shape.hidden);
  const bool unpacked = shape.experts.count > 0 && !shape.mtp_packed;
  reserve_parameters(hyper, model, unpacked ? model.mtp_layers : 0);

  // With a vision tower beside it, the language model is a part of the whole.
  const std::string inside = vision ? "model.language_model." : "model.";
  ParameterBuilder add(model, inside + "layers.");
  add.add(inside + "embed_tokens.weight", {model.vocabulary, shape.hidden},
          ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_layer(add, shape, shape.full_attention[static_cast<std::size_t>(layer)], true);
  }
  add_model_end(add, model, shape.hidden, inside + "norm.weight");
  if (vision) add_qwen_vision(add, *vision);
  add_prediction_layers(add, shape, model);
}

}  // namespace transload
