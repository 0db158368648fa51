#include "models/importers/architectures.h"

#include <array>

namespace transload::importing {
namespace {

constexpr std::string_view kNoFamily = "";

constexpr std::array kArchitectures = {
    Architecture{"LlamaForCausalLM", "llama", "llama", ""},
    Architecture{"MistralForCausalLM", "mistral", "llama", ""},
    Architecture{"Qwen2ForCausalLM", "qwen2", "qwen2", ""},
    Architecture{"Qwen3ForCausalLM", "qwen3", "qwen3", ""},
    Architecture{"Qwen3MoeForCausalLM", "qwen3_moe", "qwen3_moe", ""},
    Architecture{"Qwen3_5ForCausalLM", "qwen3_5_text", "qwen35", ""},
    Architecture{"Qwen3_5ForConditionalGeneration", "qwen3_5", "qwen35", ""},
    Architecture{"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", "qwen35", ""},
    Architecture{"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", "qwen35", ""},
    Architecture{"DeepseekV2ForCausalLM", "deepseek_v2", "deepseek_v3", ""},
    Architecture{"DeepseekV3ForCausalLM", "deepseek_v3", "deepseek_v3", ""},
    Architecture{"DeepseekV3ForCausalLM", "kimi_k2", "deepseek_v3", ""},
    Architecture{"DeepseekV32ForCausalLM", "deepseek_v32", "deepseek_v3", ""},
    Architecture{"GlmMoeDsaForCausalLM", "glm_moe_dsa", "deepseek_v3", ""},
    Architecture{"DeepseekV4ForCausalLM", "deepseek_v4", "deepseek_v4", ""},
    Architecture{"KimiK3ForConditionalGeneration", "kimi_k3", "kimi_k3", ""},
    Architecture{"NemotronHForCausalLM", "nemotron_h", "nemotron_h", ""},
    Architecture{"Glm4MoeForCausalLM", "glm4_moe", "glm4_moe", ""},
    Architecture{"Llama4ForConditionalGeneration", "llama4", "llama4", ""},
    Architecture{"Llama4ForCausalLM", "llama4_text", "llama4", ""},
    Architecture{"GptOssForCausalLM", "gpt_oss", "gpt_oss", ""},
    Architecture{"MixtralForCausalLM", "mixtral", "mixtral", ""},
    Architecture{"MiniMaxM2ForCausalLM", "minimax_m2", "minimax_m2", ""},
    Architecture{"BailingMoeV2ForCausalLM", "bailing_moe_v2", "bailing_v2", ""},
    Architecture{"Qwen3NextForCausalLM", "qwen3_next", kNoFamily,
                 "its gated delta nets store q, k, v and z, and b and a, in two projections "
                 "interleaved by key head (in_proj_qkvz, in_proj_ba), which no family here lists"},
    Architecture{"Qwen2MoeForCausalLM", "qwen2_moe", kNoFamily,
                 "a shared expert beside routed ones under attention biases is in no family here"},
    Architecture{"BailingMoeForCausalLM", "bailing_moe", kNoFamily,
                 "its routers have no bias, which the family bailing_v2 lists"},
};

// Keys that a family reads itself are never looked up here.
constexpr std::array kHarmless = {
    HarmlessValue{"attention_bias", "false", "biases of the attention projections"},
    HarmlessValue{"qkv_bias", "false", "biases of q, k and v"},
    HarmlessValue{"use_qkv_bias", "false", "biases of q, k and v"},
    HarmlessValue{"use_bias", "false", "biases"},
    HarmlessValue{"mlp_bias", "false", "biases of the feed-forward projections"},
    HarmlessValue{"shared_expert_intermediate_size", "0", "a shared expert"},
    HarmlessValue{"n_shared_experts", "0", "shared experts"},
    HarmlessValue{"num_shared_experts", "0", "shared experts"},
    HarmlessValue{"num_experts", "0", "experts"},
    HarmlessValue{"num_local_experts", "0", "experts"},
    HarmlessValue{"n_routed_experts", "0", "experts"},
    HarmlessValue{"moe_layer_freq", "1", "layers without experts in between"},
    HarmlessValue{"decoder_sparse_step", "1", "layers without experts in between"},
    HarmlessValue{"mlp_only_layers", "[]", "layers without experts"},
    HarmlessValue{"num_nextn_predict_layers", "0", "prediction layers"},
    HarmlessValue{"mtp_num_hidden_layers", "0", "prediction layers"},
    HarmlessValue{"mtp_use_dedicated_embeddings", "false", "an embedding of the prediction layers"},
    HarmlessValue{"use_routing_bias", "true", "routers without their bias"},
    HarmlessValue{"first_k_dense_replace", "0", "layers without experts at the front"},
    HarmlessValue{"q_lora_rank", "absent", "latent attention"},
    HarmlessValue{"kv_lora_rank", "absent", "latent attention"},
    HarmlessValue{"linear_attn_config", "absent", "linear-attention layers"},
    HarmlessValue{"hybrid_override_pattern", "absent", "layers of other kinds"},
    HarmlessValue{"hc_mult", "absent", "hyper-connections"},
};

constexpr std::string_view kYesNo = "true or false";

constexpr std::array kQuestions = {
    Question{"kimi_k3", "num_attention_heads", "a_log_stored", "a number", false,
             "how many values A_log is stored with, of which the heads use the first (128 in "
             "Kimi-K3)"},
    Question{
        "deepseek_v3", "num_nextn_predict_layers", "mtp_stores_copies", kYesNo, true,
        "whether the prediction layers store embed_tokens and shared_head.head again (V3, V3.2 "
        "and R1 do, GLM-5 does not)"},
    Question{"glm4_moe", "num_nextn_predict_layers", "mtp_stores_copies", kYesNo, true,
             "whether the prediction layers store embed_tokens and shared_head.head again (GLM-4.5 "
             "does, GLM-4.6 does not)"},
    Question{"qwen35", "mtp_num_hidden_layers", "mtp_stores_packed_experts", kYesNo, true,
             "whether the prediction layers store their experts in one tensor (Qwen3.6) or one by "
             "one (Qwen3.5)"},
};

constexpr std::array kAliases = {
    Alias{"deepseek_v3", "n_routed_experts", "num_routed_experts"},
    Alias{"deepseek_v3", "n_shared_experts", "num_shared_experts"},
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }
std::span<const HarmlessValue> harmless_values() { return kHarmless; }
std::span<const Question> questions() { return kQuestions; }
std::span<const Alias> aliases() { return kAliases; }

}  // namespace transload::importing
