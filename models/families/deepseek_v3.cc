// The DeepSeek-V3 family: DeepSeek-V3, R1, V3.1 and V3.2, Kimi-K2, GLM-5.
#include <algorithm>

#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"
#include "models/families/prediction_layer.h"
#include "models/families/sparse_mlp.h"

namespace transload {
namespace {

// The sparse-attention indexer. Where `every` is above 1, only some layers have one and those
// between them reuse its choice.
struct Indexer {
  std::int64_t heads = 0;  // 0: the model has none
  std::int64_t head_dim = 0;
  std::int64_t every = 1;
  std::int64_t offset = 0;  // the first so many layers have one each
};

struct Shape {
  std::int64_t hidden = 0;
  SparseMlp mlp;
  LatentAttention attention;
  Indexer indexer;
};

Indexer read_indexer(YamlMap& hyper) {
  Indexer indexer;
  if (!given(hyper, "index_n_heads")) return indexer;
  indexer.heads = hyper_parameter(hyper, "index_n_heads", kMaxHeads);
  indexer.head_dim = hyper_parameter(hyper, "index_head_dim", kMaxHeadDim);
  indexer.every = hyper_parameter_or(hyper, "index_topk_freq", 1, 1, kMaxLayers);
  if (indexer.every > 1)
    indexer.offset = hyper_parameter(hyper, "index_skip_topk_offset", 0, kMaxLayers);
  return indexer;
}

Shape read_shape(YamlMap& hyper, Model& model) {
  Shape shape;
  shape.hidden = read_sizes(hyper, model);
  shape.mlp = read_sparse_mlp(hyper, model, shape.hidden, {"n_routed_experts", "n_shared_experts"});
  // The bias belongs to this method; DeepSeek-V2 chooses experts without one.
  const auto method = given(hyper, "topk_method");
  if (!method || method->text() == "noaux_tc") shape.mlp.router_bias = "e_score_correction_bias";
  expect_flag(hyper, "attention_bias", false);
  expect_number(hyper, "moe_layer_freq", 1);
  shape.attention = read_latent_attention(hyper, model, shape.hidden);
  shape.indexer = read_indexer(hyper);
  return shape;
}

// GLM-5.2 (offset 3, every 4): layers 0, 1, 2, 6, 10, ..., 74, and every prediction layer.
bool has_indexer(const Indexer& indexer, const Model& model, std::int64_t layer) {
  if (indexer.heads == 0) return false;
  if (layer >= model.layers) return true;
  return std::max<std::int64_t>(layer - indexer.offset + 1, 0) % indexer.every == 0;
}

void add_indexer(ParameterBuilder& add, const Shape& shape) {
  using enum ParameterKind;
  const Indexer& indexer = shape.indexer;
  const std::int64_t query_rank =
      shape.attention.q_rank > 0 ? shape.attention.q_rank : shape.hidden;
  add.add("self_attn.indexer.wq_b.weight", {indexer.heads * indexer.head_dim, query_rank},
          kIndexer);
  add.add("self_attn.indexer.wk.weight", {indexer.head_dim, shape.hidden}, kIndexer);
  add.add("self_attn.indexer.k_norm.weight", {indexer.head_dim}, kIndexer);
  add.add("self_attn.indexer.k_norm.bias", {indexer.head_dim}, kIndexer);
  add.add("self_attn.indexer.weights_proj.weight", {indexer.heads, shape.hidden}, kIndexer);
}

void add_layer(ParameterBuilder& add, const Shape& shape, const Model& model, std::int64_t layer) {
  add.add("input_layernorm.weight", {shape.hidden}, ParameterKind::kNorm);
  add_latent_projections(add, shape.attention);
  add_latent_output(add, shape.attention);
  if (has_indexer(shape.indexer, model, layer)) add_indexer(add, shape);
  add.add("post_attention_layernorm.weight", {shape.hidden}, ParameterKind::kNorm);
  add_sparse_mlp(add, shape.mlp, layer);
}

}  // namespace

void build_deepseek_v3(YamlMap& hyper, Model& model) {
  const Shape shape = read_shape(hyper, model);
  const bool copies = read_prediction_layers(hyper, model);
  reserve_parameters(hyper, model, model.layers - shape.mlp.dense_layers + model.mtp_layers);

  ParameterBuilder add(model);
  add.add("model.embed_tokens.weight", {model.vocabulary, shape.hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_layer(add, shape, model, layer);
  }
  add_model_end(add, model, shape.hidden);
  add_prediction_layers(add, model, shape.hidden, copies,
                        [&](std::int64_t layer) { add_layer(add, shape, model, layer); });
}

}  // namespace transload
