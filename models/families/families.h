// Model families: architectures that turn hyper-parameters into a list of parameters.
//
// A family is one function: it reads the keys it knows from the `hyper_parameters` map of a model
// file, checks them, and fills the model. Keys are those of the Hugging Face config.json; where
// that has none (what a checkpoint stores twice or packed), the key is our own and starts with
// `mtp_stores_` or ends in `_stored`. Two models of one family differ only in their numbers, so a
// new model is a new file in models/ and no code.
//
// A family function leaves keys that it does not know unread. The caller decides what they mean:
// read_model() refuses them, an importer of config.json lists them as ignored. Of the maps inside
// (vision_config, linear_attn_config) every key that matters is required, and others may stand
// there.
#pragma once

#include <string_view>

#include "common/yaml.h"
#include "models/model.h"

namespace transload {

// Fills every field of `model` that follows from the hyper-parameters; `model.dtype` is set before.
using FamilyFunction = void (*)(YamlMap& hyper, Model& model);

// Ling and Ring: one tensor for q, k and v, dense layers first, shared expert.
void build_bailing_v2(YamlMap& hyper, Model& model);
// DeepSeek-V3, R1, V3.2, Kimi-K2, GLM-5: latent attention, dense layers first, shared expert,
// sparse-attention indexer, prediction layers.
void build_deepseek_v3(YamlMap& hyper, Model& model);
// DeepSeek-V4: one shared KV head, compressors, hyper-connections, hashed routing at first.
void build_deepseek_v4(YamlMap& hyper, Model& model);
// GLM-4.5: grouped-query attention with biases, dense layers first, shared expert.
void build_glm4_moe(YamlMap& hyper, Model& model);
// gpt-oss: biases everywhere, sinks, experts stacked and transposed with alternating columns.
void build_gpt_oss(YamlMap& hyper, Model& model);
// Kimi-K3: delta attention between latent attention, experts in a latent space.
void build_kimi_k3(YamlMap& hyper, Model& model);
// Llama 2 and 3.
void build_llama(YamlMap& hyper, Model& model);
// Llama 4: experts stacked and transposed, shared expert, some layers dense.
void build_llama4(YamlMap& hyper, Model& model);
// MiniMax-M2: head norms over the full width.
void build_minimax_m2(YamlMap& hyper, Model& model);
// Mixtral.
void build_mixtral(YamlMap& hyper, Model& model);
// Nemotron-H and Nemotron 3: every layer one mixer of Mamba-2, attention or experts.
void build_nemotron_h(YamlMap& hyper, Model& model);
// Qwen2: Llama with biases on q, k and v.
void build_qwen2(YamlMap& hyper, Model& model);
// Qwen3: Llama with head norms.
void build_qwen3(YamlMap& hyper, Model& model);
// Qwen3.5, 3.6 and 3.8: gated delta nets between gated attention; dense or with stacked experts.
void build_qwen35(YamlMap& hyper, Model& model);
// Qwen3 mixture of experts.
void build_qwen3_moe(YamlMap& hyper, Model& model);

struct Family {
  std::string_view name;
  FamilyFunction build;
};

inline constexpr Family kFamilies[] = {
    {"bailing_v2", build_bailing_v2},
    {"deepseek_v3", build_deepseek_v3},
    {"deepseek_v4", build_deepseek_v4},
    {"glm4_moe", build_glm4_moe},
    {"gpt_oss", build_gpt_oss},
    {"kimi_k3", build_kimi_k3},
    {"llama", build_llama},
    {"llama4", build_llama4},
    {"minimax_m2", build_minimax_m2},
    {"mixtral", build_mixtral},
    {"nemotron_h", build_nemotron_h},
    {"qwen2", build_qwen2},
    {"qwen3", build_qwen3},
    {"qwen35", build_qwen35},
    {"qwen3_moe", build_qwen3_moe},
};

}  // namespace transload
