// Ling-1T and Ring-1T (bailing_moe_v2). The 2.5 and 2.6 models of the name are another
// architecture.
#include "models/families/attention.h"
#include "models/families/builder.h"
#include "models/families/families.h"
#include "models/families/sparse_mlp.h"

namespace transload {
namespace {

void add_attention(ParameterBuilder& add, const GroupedQueryAttention& attention) {
  using enum ParameterKind;
  // All query heads, then all keys, then all values: not interleaved by group.
  const Fusion query_key_value = {.pieces = {{"q", kAttentionQ, attention.query_rows},
                                             {"k", kAttentionK, attention.kv_rows},
                                             {"v", kAttentionV, attention.kv_rows}}};
  const std::int64_t hidden = attention.hidden;
  add.add("input_layernorm.weight", {hidden}, kNorm);
  add.add_fused("attention.query_key_value.weight",
                {attention.query_rows + 2 * attention.kv_rows, hidden}, query_key_value);
  add.add("attention.dense.weight", {hidden, attention.query_rows}, kAttentionO);
  add.add("attention.query_layernorm.weight", {attention.head_dim}, kHeadNorm);
  add.add("attention.key_layernorm.weight", {attention.head_dim}, kHeadNorm);
  add.add("post_attention_layernorm.weight", {hidden}, kNorm);
}

}  // namespace

void build_bailing_v2(YamlMap& hyper, Model& model) {
  const std::int64_t hidden = read_sizes(hyper, model);
  SparseMlp mlp = read_sparse_mlp(hyper, model, hidden, {"num_experts", "num_shared_experts"});
  mlp.router_bias = "expert_bias";
  const GroupedQueryAttention attention =
      read_grouped_query_attention(hyper, model, hidden, HeadDimRule::kStated);
  expect_flag(hyper, "use_bias", false);
  expect_flag(hyper, "use_qkv_bias", false);
  expect_flag(hyper, "use_qk_norm", true);
  expect_flag(hyper, "moe_router_enable_expert_bias", true);
  refuse_prediction_layers(hyper);
  reserve_parameters(hyper, model, model.layers - mlp.dense_layers);

  ParameterBuilder add(model);
  add.add("model.word_embeddings.weight", {model.vocabulary, hidden}, ParameterKind::kEmbedding);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    add.enter_layer(layer, ModelPart::kMain);
    add_attention(add, attention);
    add_sparse_mlp(add, mlp, layer);
  }
  add_model_end(add, model, hidden);
}

}  // namespace transload
