// gpt-oss-20b and gpt-oss-120b, in the bf16 layout. (The published checkpoint stores the experts'
// weights as MXFP4 blocks, transposed against it: models/quantised.h.)
#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {

void build_gpt_oss(YamlMap& hyper, Model& model) {
  using enum ParameterKind;
  const std::int64_t hidden = read_sizes(hyper, model);
  model.experts = hyper_parameter(hyper, "num_local_experts", kMaxExperts);
  const std::int64_t experts = model.experts;
  const std::int64_t width = hyper_parameter(hyper, "intermediate_size", kMaxWidth);
  GroupedQueryAttention attention =
      read_grouped_query_attention(hyper, model, hidden, HeadDimRule::kStated);
  attention.qkv_bias = attention.o_bias = hyper.required("attention_bias").boolean();
  // Columns alternate gate, up, gate, up. Weights are stored input-major.
  const Fusion gate_up = {.experts = true,
                          .dim = 2,
                          .groups = width,
                          .pieces = {{"gate", kExpertGate, 1}, {"up", kExpertUp, 1}},
                          .transposed = true};
  const Fusion gate_up_bias = {.experts = true,
                               .dim = 1,
                               .groups = width,
                               .pieces = {{"gate", kExpertGateBias, 1}, {"up", kExpertUpBias, 1}}};
  const Fusion down = {.experts = true, .dim = 2, .transposed = true};
  const Fusion down_bias = {.experts = true, .dim = 1};

  reserve_parameters(hyper, model, 0);
  ParameterBuilder add(model);
  add.add("model.embed_tokens.weight", {model.vocabulary, hidden}, kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_grouped_query_block(add, attention);
    add.add("self_attn.sinks", {model.query_heads}, kSinks);
    add.add("mlp.router.weight", {experts, hidden}, kRouter);
    add.add("mlp.router.bias", {experts}, kRouterBias);
    add.add_fused("mlp.experts.gate_up_proj", {experts, hidden, 2 * width}, gate_up);
    add.add_fused("mlp.experts.gate_up_proj_bias", {experts, 2 * width}, gate_up_bias);
    add.add_fused("mlp.experts.down_proj", {experts, width, hidden}, down, kExpertDown);
    add.add_fused("mlp.experts.down_proj_bias", {experts, hidden}, down_bias, kExpertDownBias);
  }
  add_model_end(add, model, hidden);
}

}  // namespace transload
