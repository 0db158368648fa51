// Nemotron-H and Nemotron 3: hybrids in which every layer is one mixer, named by a letter of the
// pattern: M Mamba-2, * attention, E experts, - feed-forward. Feed-forward layers are not gated.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {
namespace {

constexpr std::string_view kLetters = "M*E-";

struct Mamba {
  std::int64_t inner = 0;   // heads x head dimension
  std::int64_t states = 0;  // groups x state size: rows of B, and of C
  std::int64_t heads = 0;
  std::int64_t kernel = 0;
  Fusion in_proj;
  Fusion conv;
};

struct Experts {
  std::int64_t width = 0;
  std::int64_t shared_width = 0;  // 0: no shared expert
  std::int64_t latent = 0;        // width of the space that routed experts work in; 0: hidden
};

struct Shape {
  std::int64_t hidden = 0;
  std::string pattern;
  std::string mtp_pattern;
  GroupedQueryAttention attention;
  Mamba mamba;
  Experts experts;
  std::int64_t dense_width = 0;
};

std::string read_pattern(YamlMap& hyper, const std::string& key) {
  const YamlValue value = hyper.required(key);
  std::string pattern = value.text();
  const std::size_t wrong = pattern.find_first_not_of(kLetters);
  if (pattern.empty() || wrong != std::string::npos)
    value.fail(fmt::format(
        "expected letters M (Mamba), * (attention), E (experts) or - (feed-forward), found {}",
        pattern.empty() ? "nothing" : fmt::format("'{}'", pattern[wrong])));
  return pattern;
}

Mamba read_mamba(YamlMap& hyper, Model& model) {
  using enum ParameterKind;
  model.mamba_heads = hyper_parameter(hyper, "mamba_num_heads", kMaxHeads);
  model.mamba_groups = hyper_parameter(hyper, "n_groups", kMaxHeads);
  if (model.mamba_heads % model.mamba_groups != 0)
    hyper.required("n_groups")
        .fail(fmt::format("{} groups do not divide the {} Mamba heads", model.mamba_groups,
                          model.mamba_heads));
  Mamba mamba;
  mamba.heads = model.mamba_heads;
  mamba.inner = mamba.heads * hyper_parameter(hyper, "mamba_head_dim", kMaxHeadDim);
  mamba.states = model.mamba_groups * hyper_parameter(hyper, "ssm_state_size", kMaxHeadDim);
  mamba.kernel = hyper_parameter(hyper, "conv_kernel", kMaxKernel);
  mamba.in_proj = {.pieces = {{"z", kMambaZ, mamba.inner},
                              {"x", kMambaX, mamba.inner},
                              {"B", kMambaB, mamba.states},
                              {"C", kMambaC, mamba.states},
                              {"dt", kMambaDt, mamba.heads}}};
  mamba.conv = {.pieces = {{"x", kMambaConvX, mamba.inner},
                           {"B", kMambaConvB, mamba.states},
                           {"C", kMambaConvC, mamba.states}}};
  return mamba;
}

Experts read_experts(YamlMap& hyper, Model& model) {
  model.experts = hyper_parameter(hyper, "n_routed_experts", kMaxExperts);
  Experts experts;
  experts.width = hyper_parameter(hyper, "moe_intermediate_size", kMaxWidth);
  experts.latent = hyper_parameter_or(hyper, "moe_latent_size", 0, 1, kMaxWidth);
  const std::int64_t shared = hyper_parameter(hyper, "n_shared_experts", 0, kMaxSharedExperts);
  if (shared > 0)
    experts.shared_width = hyper_parameter(hyper, "moe_shared_expert_intermediate_size", kMaxWidth);
  return experts;
}

Shape read_shape(YamlMap& hyper, Model& model) {
  Shape shape;
  shape.hidden = read_sizes(hyper, model);
  shape.pattern = read_pattern(hyper, "hybrid_override_pattern");
  if (static_cast<std::int64_t>(shape.pattern.size()) != model.layers)
    hyper.required("hybrid_override_pattern")
        .fail(fmt::format("{} letters for {} layers", shape.pattern.size(), model.layers));
  model.mtp_layers = hyper_parameter_or(hyper, "num_nextn_predict_layers", 0, 0, kMaxMtpLayers);
  if (model.mtp_layers > 0)
    shape.mtp_pattern = read_pattern(hyper, "mtp_hybrid_override_pattern");
  else
    given(hyper, "mtp_hybrid_override_pattern");
  const std::string all = shape.pattern + shape.mtp_pattern;
  const auto has = [&](char letter) { return all.find(letter) != std::string::npos; };
  shape.attention = read_grouped_query_attention(hyper, model, shape.hidden, HeadDimRule::kStated);
  if (has('M')) shape.mamba = read_mamba(hyper, model);
  if (has('E')) shape.experts = read_experts(hyper, model);
  for (const char* key : {"attention_bias", "mlp_bias", "use_bias", "mamba_proj_bias"})
    expect_flag(hyper, key, false);
  expect_flag(hyper, "use_conv_bias", true);
  shape.dense_width = has('-') ? hyper_parameter(hyper, "intermediate_size", kMaxWidth)
                               : hyper_parameter_or(hyper, "intermediate_size", 0, 1, kMaxWidth);
  return shape;
}

void add_mamba(ParameterBuilder& add, const Shape& shape) {
  using enum ParameterKind;
  const Mamba& mamba = shape.mamba;
  const std::int64_t channels = mamba.inner + 2 * mamba.states;
  add.add_fused("mixer.in_proj.weight", {mamba.inner + channels + mamba.heads, shape.hidden},
                mamba.in_proj);
  add.add_fused("mixer.conv1d.weight", {channels, 1, mamba.kernel}, mamba.conv);
  add.add_fused("mixer.conv1d.bias", {channels}, mamba.conv);
  add.add("mixer.A_log", {mamba.heads}, kMambaALog);
  add.add("mixer.D", {mamba.heads}, kMambaHead);
  add.add("mixer.dt_bias", {mamba.heads}, kMambaHead);
  add.add("mixer.norm.weight", {mamba.inner}, kMambaNorm);
  add.add("mixer.out_proj.weight", {shape.hidden, mamba.inner}, kMambaOut);
}

void add_attention(ParameterBuilder& add, const GroupedQueryAttention& attention) {
  using enum ParameterKind;
  const std::int64_t hidden = attention.hidden;
  add.add("mixer.q_proj.weight", {attention.query_rows, hidden}, kAttentionQ);
  add.add("mixer.k_proj.weight", {attention.kv_rows, hidden}, kAttentionK);
  add.add("mixer.v_proj.weight", {attention.kv_rows, hidden}, kAttentionV);
  add.add("mixer.o_proj.weight", {hidden, attention.query_rows}, kAttentionO);
}

void add_experts(ParameterBuilder& add, const Shape& shape, std::int64_t count) {
  using enum ParameterKind;
  const Experts& experts = shape.experts;
  const std::int64_t inside = experts.latent > 0 ? experts.latent : shape.hidden;
  add.add("mixer.gate.weight", {count, shape.hidden}, kRouter);
  add.add_fp32("mixer.gate.e_score_correction_bias", {count}, kRouterBias);
  add.add_experts("mixer.experts", count, inside, experts.width, kNotGated);
  if (experts.shared_width > 0)
    add.add_mlp("mixer.shared_experts", shape.hidden, experts.shared_width, MlpUse::kShared,
                kNotGated);
  if (experts.latent > 0) {
    add.add("mixer.fc1_latent_proj.weight", {experts.latent, shape.hidden}, kLatentProjection);
    add.add("mixer.fc2_latent_proj.weight", {shape.hidden, experts.latent}, kLatentProjection);
  }
}

void add_layer(ParameterBuilder& add, const Shape& shape, const Model& model, char letter) {
  add.add("norm.weight", {shape.hidden}, ParameterKind::kNorm);
  switch (letter) {
    case 'M':
      return add_mamba(add, shape);
    case '*':
      return add_attention(add, shape.attention);
    case 'E':
      return add_experts(add, shape, model.experts);
    default:
      return add.add_mlp("mixer", shape.hidden, shape.dense_width, MlpUse::kDense, kNotGated);
  }
}

// One prediction layer is a whole pattern; its mixers are numbered through all of them.
void add_prediction_layers(ParameterBuilder& add, const Shape& shape, const Model& model) {
  using enum ParameterKind;
  const std::size_t length = shape.mtp_pattern.size();
  for (std::int64_t depth = 0; depth < model.mtp_layers; ++depth)
    for (std::size_t mixer = 0; mixer < length; ++mixer) {
      add.enter(fmt::format("mtp.layers.{}.", static_cast<std::size_t>(depth) * length + mixer),
                model.layers + depth, ModelPart::kMtp);
      if (mixer == 0) {
        add.add("enorm.weight", {shape.hidden}, kNorm);
        add.add("hnorm.weight", {shape.hidden}, kNorm);
        add.add("eh_proj.weight", {shape.hidden, 2 * shape.hidden}, kMtpProjection);
      }
      add_layer(add, shape, model, shape.mtp_pattern[mixer]);
      if (mixer + 1 == length) add.add("final_layernorm.weight", {shape.hidden}, kNorm);
    }
}

}  // namespace

void build_nemotron_h(YamlMap& hyper, Model& model) {
  const Shape shape = read_shape(hyper, model);
  const auto sparse = [](const std::string& pattern) {
    return static_cast<std::int64_t>(std::count(pattern.begin(), pattern.end(), 'E'));
  };
  reserve_parameters(hyper, model,
                     sparse(shape.pattern) + model.mtp_layers * sparse(shape.mtp_pattern), 2);

  ParameterBuilder add(model, "backbone.layers.");
  add.add("backbone.embeddings.weight", {model.vocabulary, shape.hidden},
          ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_layer(add, shape, model, shape.pattern[static_cast<std::size_t>(layer)]);
  }
  add_model_end(add, model, shape.hidden, "backbone.norm_f.weight");
  add_prediction_layers(add, shape, model);
}

}  // namespace transload
