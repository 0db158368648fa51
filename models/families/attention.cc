#include "models/families/attention.h"

#include <fmt/format.h>

namespace transload {
namespace {

std::int64_t read_head_dim(YamlMap& hyper, const Model& model, std::int64_t hidden,
                           HeadDimRule rule) {
  if (rule == HeadDimRule::kStated) return hyper_parameter(hyper, "head_dim", kMaxHeadDim);
  if (const auto value = given(hyper, "head_dim")) return value->integer_in(1, kMaxHeadDim);
  if (hidden % model.query_heads != 0)
    hyper.required("num_attention_heads")
        .fail(fmt::format("{} heads do not divide the hidden size {}, and head_dim is not given",
                          model.query_heads, hidden));
  return hidden / model.query_heads;
}

}  // namespace

GroupedQueryAttention read_grouped_query_attention(YamlMap& hyper, Model& model,
                                                   std::int64_t hidden, HeadDimRule rule) {
  model.query_heads = hyper_parameter(hyper, "num_attention_heads", kMaxHeads);
  model.kv_heads = hyper_parameter(hyper, "num_key_value_heads", kMaxHeads);
  if (model.query_heads % model.kv_heads != 0)
    hyper.required("num_key_value_heads")
        .fail(fmt::format("{} KV heads do not divide the {} query heads", model.kv_heads,
                          model.query_heads));
  model.head_dim = read_head_dim(hyper, model, hidden, rule);
  GroupedQueryAttention attention;
  attention.hidden = hidden;
  attention.head_dim = model.head_dim;
  attention.query_rows = model.query_heads * model.head_dim;
  attention.kv_rows = model.kv_heads * model.head_dim;
  return attention;
}

void add_grouped_query_attention(ParameterBuilder& add, const GroupedQueryAttention& attention) {
  using enum ParameterKind;
  const std::int64_t hidden = attention.hidden;
  const auto add_rows = [&](const char* name, std::int64_t rows, ParameterKind kind) {
    add.add(fmt::format("self_attn.{}.weight", name), {rows, hidden}, kind);
    if (attention.qkv_bias) add.add(fmt::format("self_attn.{}.bias", name), {rows}, kind);
  };
  add_rows("q_proj", attention.query_rows, kAttentionQ);
  add_rows("k_proj", attention.kv_rows, kAttentionK);
  add_rows("v_proj", attention.kv_rows, kAttentionV);
  add.add("self_attn.o_proj.weight", {hidden, attention.query_rows}, kAttentionO);
  if (attention.o_bias) add.add("self_attn.o_proj.bias", {hidden}, kAttentionOBias);
  if (attention.norms == HeadNorms::kPerHead) {
    add.add("self_attn.q_norm.weight", {attention.head_dim}, kHeadNorm);
    add.add("self_attn.k_norm.weight", {attention.head_dim}, kHeadNorm);
  } else if (attention.norms == HeadNorms::kFullWidth) {
    add.add("self_attn.q_norm.weight", {attention.query_rows}, kQueryNormFull);
    add.add("self_attn.k_norm.weight", {attention.kv_rows}, kKeyNormFull);
  }
}

void add_grouped_query_block(ParameterBuilder& add, const GroupedQueryAttention& attention) {
  add.add("input_layernorm.weight", {attention.hidden}, ParameterKind::kNorm);
  add_grouped_query_attention(add, attention);
  add.add("post_attention_layernorm.weight", {attention.hidden}, ParameterKind::kNorm);
}

LatentAttention read_latent_attention(YamlMap& hyper, Model& model, std::int64_t hidden) {
  model.query_heads = hyper_parameter(hyper, "num_attention_heads", kMaxHeads);
  model.kv_heads = model.query_heads;
  const std::int64_t stated =
      hyper_parameter_or(hyper, "num_key_value_heads", model.kv_heads, 1, kMaxHeads);
  if (stated != model.query_heads)
    hyper.required("num_key_value_heads")
        .fail(fmt::format("latent attention has as many KV heads as query heads; found {} and {}",
                          stated, model.query_heads));
  LatentAttention attention;
  attention.hidden = hidden;
  attention.heads = model.query_heads;
  const YamlValue q_rank = hyper.required("q_lora_rank");
  if (!q_rank.is_null()) attention.q_rank = q_rank.integer_in(1, kMaxWidth);
  attention.kv_rank = hyper_parameter(hyper, "kv_lora_rank", kMaxWidth);
  attention.nope_dim = hyper_parameter(hyper, "qk_nope_head_dim", kMaxHeadDim);
  attention.rope_dim = hyper_parameter(hyper, "qk_rope_head_dim", kMaxHeadDim);
  attention.value_dim = hyper_parameter(hyper, "v_head_dim", kMaxHeadDim);
  return attention;
}

void add_latent_projections(ParameterBuilder& add, const LatentAttention& attention) {
  using enum ParameterKind;
  const std::int64_t hidden = attention.hidden;
  const std::int64_t query_rows = attention.heads * (attention.nope_dim + attention.rope_dim);
  if (attention.q_rank > 0) {
    add.add("self_attn.q_a_proj.weight", {attention.q_rank, hidden}, kMlaQueryDown);
    add.add("self_attn.q_a_layernorm.weight", {attention.q_rank}, kNorm);
    add.add("self_attn.q_b_proj.weight", {query_rows, attention.q_rank}, kMlaQueryUp);
  } else {
    add.add("self_attn.q_proj.weight", {query_rows, hidden}, kMlaQueryUp);
  }
  add.add("self_attn.kv_a_proj_with_mqa.weight", {attention.kv_rank + attention.rope_dim, hidden},
          kMlaKvDown);
  add.add("self_attn.kv_a_layernorm.weight", {attention.kv_rank}, kNorm);
  add.add("self_attn.kv_b_proj.weight",
          {attention.heads * (attention.nope_dim + attention.value_dim), attention.kv_rank},
          kMlaKvUp);
}

void add_latent_output(ParameterBuilder& add, const LatentAttention& attention) {
  add.add("self_attn.o_proj.weight", {attention.hidden, attention.heads * attention.value_dim},
          ParameterKind::kAttentionO);
}

}  // namespace transload
