// The text part of Llama 4 (Scout, Maverick). The vision tower is not listed.
#include <fmt/format.h>

#include <vector>

#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {

namespace {

// Every step-th layer has experts; config.json files list the same layers once more.
void check_moe_layers(YamlMap& hyper, const Model& model, std::int64_t step) {
  const auto listed = given(hyper, "moe_layers");
  if (!listed) return;
  const std::vector<YamlValue> layers = listed->list();
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].integer() != static_cast<std::int64_t>(i + 1) * step - 1)
      layers[i].fail("moe_layers and interleave_moe_layer_step disagree");
  if (static_cast<std::int64_t>(layers.size()) != model.layers / step)
    listed->fail(fmt::format("{} layers, where every {} of {} makes {}", layers.size(), step,
                             model.layers, model.layers / step));
}

}  // namespace

void build_llama4(YamlMap& hyper, Model& model) {
  using enum ParameterKind;
  const std::int64_t hidden = read_sizes(hyper, model);
  model.experts = hyper_parameter(hyper, "num_local_experts", kMaxExperts);
  const std::int64_t experts = model.experts;
  // Of an expert and of the shared expert; dense layers have a width of their own.
  const std::int64_t width = hyper_parameter(hyper, "intermediate_size", kMaxWidth);
  const std::int64_t step = hyper_parameter(hyper, "interleave_moe_layer_step", kMaxLayers);
  check_moe_layers(hyper, model, step);
  expect_flag(hyper, "attention_bias", false);
  const std::int64_t dense_width = hyper_parameter(hyper, "intermediate_size_mlp", kMaxWidth);
  const GroupedQueryAttention attention =
      read_grouped_query_attention(hyper, model, hidden, HeadDimRule::kHiddenPerHead);
  // Input-major: [in, gate | up] and [in, out].
  const Fusion gate_up = {.experts = true,
                          .dim = 2,
                          .pieces = {{"gate", kExpertGate, width}, {"up", kExpertUp, width}},
                          .transposed = true};
  const Fusion down = {.experts = true, .dim = 2, .transposed = true};

  reserve_parameters(hyper, model, 0);
  ParameterBuilder add(model, "language_model.model.layers.");
  add.add("language_model.model.embed_tokens.weight", {model.vocabulary, hidden}, kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_grouped_query_block(add, attention);
    if ((layer + 1) % step != 0) {
      add.add_mlp("feed_forward", hidden, dense_width, MlpUse::kDense);
      continue;
    }
    add.add("feed_forward.router.weight", {experts, hidden}, kRouter);
    add.add_fused("feed_forward.experts.gate_up_proj", {experts, hidden, 2 * width}, gate_up);
    add.add_fused("feed_forward.experts.down_proj", {experts, width, hidden}, down, kExpertDown);
    add.add_mlp("feed_forward.shared_expert", hidden, width, MlpUse::kShared);
  }
  add_model_end(add, model, hidden, "language_model.model.norm.weight",
                "language_model.lm_head.weight");
}

}  // namespace transload
