// Mixtral and MiniMax-M2, whose experts are called w1 (gate), w3 (up) and w2 (down).
#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"

namespace transload {
namespace {

struct BlockSparseStyle {
  HeadDimRule head_dim;
  HeadNorms norms;
  bool router_bias;
};

void build_block_sparse(YamlMap& hyper, Model& model, const BlockSparseStyle& style) {
  const std::int64_t hidden = read_sizes(hyper, model);
  model.experts = hyper_parameter(hyper, "num_local_experts", kMaxExperts);
  // Every layer is sparse, so this is the width of an expert.
  const std::int64_t width = hyper_parameter(hyper, "intermediate_size", kMaxWidth);
  GroupedQueryAttention attention =
      read_grouped_query_attention(hyper, model, hidden, style.head_dim);
  attention.norms = style.norms;
  if (style.norms == HeadNorms::kFullWidth) {
    expect_flag(hyper, "use_qk_norm", true);
    expect_word(hyper, "qk_norm_type", "per_layer");
  }
  if (style.router_bias) expect_flag(hyper, "use_routing_bias", true);

  reserve_parameters(hyper, model, model.layers);
  ParameterBuilder add(model);
  add.add("model.embed_tokens.weight", {model.vocabulary, hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_grouped_query_block(add, attention);
    add.add("block_sparse_moe.gate.weight", {model.experts, hidden}, ParameterKind::kRouter);
    if (style.router_bias)
      add.add_fp32("block_sparse_moe.e_score_correction_bias", {model.experts},
                   ParameterKind::kRouterBias);
    add.add_experts("block_sparse_moe.experts", model.experts, hidden, width, kNumbered);
  }
  add_model_end(add, model, hidden);
}

}  // namespace

void build_mixtral(YamlMap& hyper, Model& model) {
  build_block_sparse(hyper, model, {HeadDimRule::kHiddenPerHead, HeadNorms::kNone, false});
}

void build_minimax_m2(YamlMap& hyper, Model& model) {
  build_block_sparse(hyper, model, {HeadDimRule::kStated, HeadNorms::kFullWidth, true});
}

}  // namespace transload
