// The two forms of attention that several families share: grouped-query attention, and the latent
// attention of DeepSeek-V3.
#pragma once

#include <cstdint>

#include "common/yaml.h"
#include "models/families/builder.h"
#include "models/model.h"

namespace transload {

// What q_norm and k_norm normalise, if there are any.
enum class HeadNorms : std::uint8_t { kNone, kPerHead, kFullWidth };

struct GroupedQueryAttention {
  std::int64_t hidden = 0;
  std::int64_t head_dim = 0;
  std::int64_t query_rows = 0;  // query heads x head_dim
  std::int64_t kv_rows = 0;
  bool qkv_bias = false;
  bool o_bias = false;
  HeadNorms norms = HeadNorms::kNone;
};

// Whether head_dim may be left out, as hidden_size / num_attention_heads. Families whose
// checkpoints choose the two apart have to state it.
enum class HeadDimRule : std::uint8_t { kStated, kHiddenPerHead };

// num_attention_heads, num_key_value_heads and head_dim; also sets the model's figures.
GroupedQueryAttention read_grouped_query_attention(YamlMap& hyper, Model& model,
                                                   std::int64_t hidden, HeadDimRule rule);
// q, k, v, o and what goes with them below "self_attn.".
void add_grouped_query_attention(ParameterBuilder& add, const GroupedQueryAttention& attention);
// The same between the layer's two norms, input_layernorm and post_attention_layernorm.
void add_grouped_query_block(ParameterBuilder& add, const GroupedQueryAttention& attention);

struct LatentAttention {
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t q_rank = 0;  // 0: queries are projected in one step
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;
  std::int64_t rope_dim = 0;
  std::int64_t value_dim = 0;
};

// q_lora_rank, kv_lora_rank and the head dimensions; also sets the model's figures.
LatentAttention read_latent_attention(YamlMap& hyper, Model& model, std::int64_t hidden);
// q_a to kv_b below "self_attn."; o_proj is apart because some families put more before it.
void add_latent_projections(ParameterBuilder& add, const LatentAttention& attention);
void add_latent_output(ParameterBuilder& add, const LatentAttention& attention);

}  // namespace transload
