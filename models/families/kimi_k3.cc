// The text part of Kimi-K3: delta attention (KDA) in most layers and latent attention in the
// others, residuals that attend to earlier layers, experts that work in a latent space. The vision
// tower is not listed.
#include <fmt/format.h>

#include <vector>

#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {
namespace {

struct DeltaAttention {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t kernel = 0;
  std::int64_t a_log = 0;  // values stored, of which the first `heads` are in use
  std::vector<bool> layers;
};

struct Shape {
  std::int64_t hidden = 0;
  std::int64_t dense_layers = 0;
  std::int64_t dense_width = 0;
  std::int64_t expert_width = 0;
  std::int64_t shared_width = 0;
  std::int64_t latent = 0;    // width of the space that routed experts work in; 0: hidden
  bool latent_norm = false;   // between the experts and the way back
  bool output_gate = false;   // of latent attention
  bool residual_mix = false;  // residuals attend to earlier layers
  LatentAttention attention;
  DeltaAttention delta;
};

// Lists of layer numbers from 1, which together name every layer once.
std::vector<bool> read_delta_layers(YamlMap& map, const Model& model) {
  std::vector<int> seen(static_cast<std::size_t>(model.layers));
  std::vector<bool> delta(static_cast<std::size_t>(model.layers));
  for (const char* key : {"kda_layers", "full_attn_layers"}) {
    const YamlValue list = map.required(key);
    for (const YamlValue& item : list.list()) {
      const auto layer = static_cast<std::size_t>(item.integer_in(1, model.layers) - 1);
      if (seen[layer]++ != 0) item.fail(fmt::format("layer {} stands twice", layer + 1));
      delta[layer] = std::string_view(key) == "kda_layers";
    }
  }
  for (std::size_t layer = 0; layer < seen.size(); ++layer)
    if (seen[layer] == 0)
      map.fail(fmt::format("layer {} is in neither kda_layers nor full_attn_layers", layer + 1));
  return delta;
}

DeltaAttention read_delta_attention(YamlMap& hyper, Model& model) {
  const YamlValue value = hyper.required("linear_attn_config");
  YamlMap map = value.map();
  DeltaAttention delta;
  delta.heads = model.kda_heads = hyper_parameter(map, "num_heads", kMaxHeads);
  delta.head_dim = hyper_parameter(map, "head_dim", kMaxHeadDim);
  delta.kernel = hyper_parameter(map, "short_conv_kernel_size", kMaxKernel);
  delta.layers = read_delta_layers(map, model);
  delta.a_log = hyper_parameter_or(hyper, "a_log_stored", delta.heads, delta.heads, kMaxHeads);
  return delta;
}

Shape read_shape(YamlMap& hyper, Model& model) {
  Shape shape;
  shape.hidden = read_sizes(hyper, model);
  model.experts = hyper_parameter(hyper, "num_experts", kMaxExperts);
  shape.dense_layers = read_dense_layers(hyper, model);
  shape.dense_width = hyper_parameter(hyper, "intermediate_size", kMaxWidth);
  shape.expert_width = hyper_parameter(hyper, "moe_intermediate_size", kMaxWidth);
  shape.shared_width =
      hyper_parameter(hyper, "num_shared_experts", 0, kMaxSharedExperts) * shape.expert_width;
  shape.latent = hyper_parameter_or(hyper, "routed_expert_hidden_size", 0, 1, kMaxWidth);
  shape.latent_norm = hyper_flag_or(hyper, "latent_moe_use_norm", true);
  shape.output_gate = hyper_flag_or(hyper, "mla_use_output_gate", true);
  shape.residual_mix = hyper_parameter_or(hyper, "attn_res_block_size", 0, 1, kMaxLayers) > 0;
  shape.attention = read_latent_attention(hyper, model, shape.hidden);
  shape.delta = read_delta_attention(hyper, model);
  expect_number(hyper, "moe_layer_freq", 1);
  refuse_prediction_layers(hyper);
  return shape;
}

void add_delta_attention(ParameterBuilder& add, const Shape& shape) {
  using enum ParameterKind;
  const DeltaAttention& delta = shape.delta;
  const std::int64_t hidden = shape.hidden;
  const std::int64_t width = delta.heads * delta.head_dim;
  for (const char* part : {"q", "k", "v"})
    add.add(fmt::format("self_attn.{}_proj.weight", part), {width, hidden}, kKdaRows);
  for (const char* part : {"q", "k", "v"})
    add.add(fmt::format("self_attn.{}_conv1d.weight", part), {width, 1, delta.kernel}, kKdaRows);
  // One stored vector of which the tail belongs to no head: only the heads' part is cut.
  if (delta.a_log > delta.heads)
    add.add_fused("self_attn.A_log", {delta.a_log},
                  {.pieces = {{"heads", kKdaRows, delta.heads},
                              {"unused", kNorm, delta.a_log - delta.heads}}});
  else
    add.add("self_attn.A_log", {delta.heads}, kKdaRows);
  add.add("self_attn.f_a_proj.weight", {delta.head_dim, hidden}, kNorm);
  add.add("self_attn.f_b_proj.weight", {width, delta.head_dim}, kKdaRows);
  add.add("self_attn.dt_bias", {width}, kKdaRows);
  add.add("self_attn.b_proj.weight", {delta.heads, hidden}, kKdaRows);
  add.add("self_attn.g_proj.weight", {width, hidden}, kKdaRows);
  add.add("self_attn.o_norm.weight", {delta.head_dim}, kHeadNorm);
  add.add("self_attn.o_proj.weight", {hidden, width}, kKdaOut);
}

void add_latent_attention(ParameterBuilder& add, const Shape& shape) {
  add_latent_projections(add, shape.attention);
  if (shape.output_gate)
    add.add("self_attn.g_proj.weight",
            {shape.attention.heads * shape.attention.value_dim, shape.hidden},
            ParameterKind::kMlaGate);
  add_latent_output(add, shape.attention);
}

void add_residual(ParameterBuilder& add, const Shape& shape, const std::string& name) {
  if (!shape.residual_mix) return;
  add.add(name + "_norm.weight", {shape.hidden}, ParameterKind::kHyperConnection);
  add.add(name + "_proj.weight", {1, shape.hidden}, ParameterKind::kHyperConnection);
}

void add_experts(ParameterBuilder& add, const Shape& shape, std::int64_t experts) {
  using enum ParameterKind;
  const std::string block = "block_sparse_moe";
  const std::int64_t inside = shape.latent > 0 ? shape.latent : shape.hidden;
  add.add(block + ".gate.weight", {experts, shape.hidden}, kRouter);
  add.add_fp32(block + ".gate.e_score_correction_bias", {experts}, kRouterBias);
  if (shape.latent > 0) {
    add.add(block + ".routed_expert_down_proj.weight", {shape.latent, shape.hidden},
            kLatentProjection);
    if (shape.latent_norm) add.add(block + ".routed_expert_norm.weight", {shape.latent}, kNorm);
    add.add(block + ".routed_expert_up_proj.weight", {shape.hidden, shape.latent},
            kLatentProjection);
  }
  add.add_experts(block + ".experts", experts, inside, shape.expert_width, kNumbered);
  if (shape.shared_width > 0)
    add.add_mlp(block + ".shared_experts", shape.hidden, shape.shared_width, MlpUse::kShared);
}

void add_layer(ParameterBuilder& add, const Shape& shape, const Model& model, std::int64_t layer) {
  add_residual(add, shape, "self_attention_res");
  add.add("input_layernorm.weight", {shape.hidden}, ParameterKind::kNorm);
  if (shape.delta.layers[static_cast<std::size_t>(layer)])
    add_delta_attention(add, shape);
  else
    add_latent_attention(add, shape);
  add_residual(add, shape, "mlp_res");
  add.add("post_attention_layernorm.weight", {shape.hidden}, ParameterKind::kNorm);
  if (layer < shape.dense_layers)
    add.add_mlp("mlp", shape.hidden, shape.dense_width, MlpUse::kDense);
  else
    add_experts(add, shape, model.experts);
}

}  // namespace

void build_kimi_k3(YamlMap& hyper, Model& model) {
  const Shape shape = read_shape(hyper, model);
  reserve_parameters(hyper, model, model.layers - shape.dense_layers);

  ParameterBuilder add(model, "language_model.model.layers.");
  add.add("language_model.model.embed_tokens.weight", {model.vocabulary, shape.hidden},
          ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_layer(add, shape, model, layer);
  }
  add.leave_layers();
  add_residual(add, shape, "language_model.model.output_attn_res");
  add_model_end(add, model, shape.hidden, "language_model.model.norm.weight",
                "language_model.lm_head.weight");
}

}  // namespace transload
