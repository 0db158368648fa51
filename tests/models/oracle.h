// Writing an engine's buffers down by hand: rows of tensors, one after the other.
//
// The engine tests state a rule as the sequence of rows in a buffer of one rank; `Oracle` turns the
// sequences into an Image to compare with.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "tests/models/holdings.h"

namespace transload {

class Oracle {
 public:
  explicit Oracle(const std::vector<LogicalTensor>& tensors) : tensors_(tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) number_[tensors[i].name] = i;
  }

  bool has(const std::string& name) const { return number_.contains(name); }
  const LogicalTensor& tensor(const std::string& name) const { return tensors_[number_.at(name)]; }
  std::int64_t rows(const std::string& name) const { return tensor(name).shape[0]; }
  std::int64_t width(const std::string& name) const {
    std::int64_t width = 1;
    for (std::size_t dim = 1; dim < tensor(name).shape.size(); ++dim)
      width *= tensor(name).shape[dim];
    return width;
  }

  // Columns [low, high) of one row go to the end of a buffer.
  void append(Rank rank, const std::string& buffer, const std::string& name, std::int64_t row,
              std::int64_t low, std::int64_t high) {
    const auto number = static_cast<std::int64_t>(number_.at(name));
    for (std::int64_t column = low; column < high; ++column)
      image_[{rank, buffer}].push_back({number, row * width(name) + column});
  }

  // Part `index` of `ways` of the rows or columns, or everything (ways 1).
  void rows_of(Rank rank, const std::string& buffer, const std::string& name, std::int64_t index,
               std::int64_t ways) {
    const std::int64_t part = rows(name) / ways;
    for (std::int64_t row = index * part; row < (index + 1) * part; ++row)
      append(rank, buffer, name, row, 0, width(name));
  }
  void columns_of(Rank rank, const std::string& buffer, const std::string& name, std::int64_t index,
                  std::int64_t ways) {
    const std::int64_t part = width(name) / ways;
    for (std::int64_t row = 0; row < rows(name); ++row)
      append(rank, buffer, name, row, index * part, (index + 1) * part);
  }
  void whole(Rank rank, const std::string& buffer, const std::string& name) {
    rows_of(rank, buffer, name, 0, 1);
  }
  void whole(Rank rank, const std::string& name) { whole(rank, name, name); }
  // Rows of a vocabulary padded to `padded`, cut evenly; padding at the end is no part of the
  // image.
  void vocabulary(Rank rank, const std::string& name, std::int64_t index, std::int64_t ways,
                  std::int64_t padded) {
    const std::int64_t part = padded / ways;
    for (std::int64_t row = index * part; row < std::min((index + 1) * part, rows(name)); ++row)
      append(rank, name, name, row, 0, width(name));
  }

  const Image& image() const { return image_; }
  Image& image() { return image_; }

 private:
  const std::vector<LogicalTensor>& tensors_;
  std::map<std::string, std::size_t> number_;
  Image image_;
};

// A model by hand: parameters in order, for kinds and fusions of any family.
class HandModel {
 public:
  explicit HandModel(const std::string& name) {
    model.name = name;
    model.family = "by-hand";
  }
  void add(const std::string& name, std::vector<std::int64_t> shape, ParameterKind kind,
           std::int32_t layer = -1, std::int32_t expert = -1, std::int32_t fusion = -1) {
    Parameter& parameter = model.parameters.emplace_back();
    parameter.name = name;
    parameter.shape = std::move(shape);
    parameter.dtype = model.dtype;
    parameter.kind = kind;
    parameter.layer = layer;
    parameter.expert = expert;
    parameter.fusion = fusion;
  }
  std::int32_t fusion(Fusion rule) {
    model.fusions.push_back(std::move(rule));
    return static_cast<std::int32_t>(model.fusions.size()) - 1;
  }

  Model model;
};

// Grouped-query attention with experts: 8 query heads in groups of head size 2.
inline Model tiny_qwen(std::int64_t kv_heads = 2) {
  return read_model(YamlValue::from_text(R"(
family: qwen3_moe
dtype: bf16
sources: [made up]
hyper_parameters: {hidden_size: 4, num_hidden_layers: 3, num_attention_heads: 8,
  head_dim: 2, moe_intermediate_size: 8, num_experts: 6, vocab_size: 10, num_key_value_heads: )" +
                                             std::to_string(kv_heads) + "}\n",
                                         "tiny-qwen.yaml"),
                    "tiny-qwen");
}

inline Model tiny_deepseek() {
  Model model = read_model(YamlValue::from_text(R"(
family: deepseek_v3
dtype: bf16
sources: [made up]
hyper_parameters: {hidden_size: 4, num_hidden_layers: 3, first_k_dense_replace: 1,
  intermediate_size: 16, moe_intermediate_size: 8, n_routed_experts: 4, n_shared_experts: 1,
  num_attention_heads: 4, q_lora_rank: 3, kv_lora_rank: 2, qk_nope_head_dim: 2,
  qk_rope_head_dim: 1, v_head_dim: 1, vocab_size: 10, num_nextn_predict_layers: 1,
  mtp_stores_copies: true}
)",
                                                "tiny-deepseek.yaml"),
                           "tiny-deepseek");
  for (Parameter& parameter : model.parameters) {
    if (parameter.name.find("shared_experts") == std::string::npos) continue;
    if (parameter.kind == ParameterKind::kMlpGate) parameter.kind = ParameterKind::kSharedGate;
    if (parameter.kind == ParameterKind::kMlpUp) parameter.kind = ParameterKind::kSharedUp;
    if (parameter.kind == ParameterKind::kMlpDown) parameter.kind = ParameterKind::kSharedDown;
  }
  return model;
}

// Every way of fusing at once: gated attention with q and gate per head (layer 0), Mamba (1), a
// gated delta net (2), packed experts with a shared one (3), alternating transposed experts with
// biases and sinks (4), norms over all heads (5).
inline Model hybrid_model() {
  using enum ParameterKind;
  HandModel hand("hybrid");
  Model& model = hand.model;
  model.layers = 6;
  model.query_heads = 4;
  model.kv_heads = 2;
  model.head_dim = 2;
  model.experts = 4;
  model.vocabulary = 10;
  model.mamba_heads = 4;
  model.mamba_groups = 2;
  model.gdn_key_heads = 2;
  model.gdn_value_heads = 4;
  const std::int64_t hidden = 6;
  const auto name = [](int layer, const std::string& rest) {
    return "model.layers." + std::to_string(layer) + "." + rest;
  };
  hand.add("model.embed_tokens.weight", {10, hidden}, kEmbedding);
  const auto gated =
      hand.fusion({.groups = 4, .pieces = {{"q", kAttentionQ, 2}, {"gate", kAttentionGate, 2}}});
  hand.add(name(0, "self_attn.q_proj.weight"), {16, hidden}, kAttentionQ, 0, -1, gated);
  hand.add(name(0, "self_attn.k_proj.weight"), {4, hidden}, kAttentionK, 0);
  hand.add(name(0, "self_attn.v_proj.weight"), {4, hidden}, kAttentionV, 0);
  hand.add(name(0, "self_attn.o_proj.weight"), {hidden, 8}, kAttentionO, 0);
  // Heads of 2 channels, state 3: z and x have 8 rows, B and C 6, dt 4.
  const auto in_proj = hand.fusion({.pieces = {{"z", kMambaZ, 8},
                                               {"x", kMambaX, 8},
                                               {"B", kMambaB, 6},
                                               {"C", kMambaC, 6},
                                               {"dt", kMambaDt, 4}}});
  const auto conv = hand.fusion(
      {.pieces = {{"x", kMambaConvX, 8}, {"B", kMambaConvB, 6}, {"C", kMambaConvC, 6}}});
  hand.add(name(1, "mixer.in_proj.weight"), {32, hidden}, kMambaZ, 1, -1, in_proj);
  hand.add(name(1, "mixer.conv1d.weight"), {20, 1, 4}, kMambaConvX, 1, -1, conv);
  hand.add(name(1, "mixer.conv1d.bias"), {20}, kMambaConvX, 1, -1, conv);
  hand.add(name(1, "mixer.A_log"), {4}, kMambaALog, 1);
  hand.add(name(1, "mixer.D"), {4}, kMambaHead, 1);
  hand.add(name(1, "mixer.norm.weight"), {8}, kMambaNorm, 1);
  hand.add(name(1, "mixer.out_proj.weight"), {hidden, 8}, kMambaOut, 1);
  // Heads of 2 channels: q and k have 4 rows, v and z 8.
  const auto qkv = hand.fusion({.pieces = {{"q", kGdnQ, 4}, {"k", kGdnK, 4}, {"v", kGdnV, 8}}});
  const auto gdn_conv =
      hand.fusion({.pieces = {{"q", kGdnConvQ, 4}, {"k", kGdnConvK, 4}, {"v", kGdnConvV, 8}}});
  hand.add(name(2, "linear_attn.in_proj_qkv.weight"), {16, hidden}, kGdnQ, 2, -1, qkv);
  hand.add(name(2, "linear_attn.in_proj_z.weight"), {8, hidden}, kGdnZ, 2);
  hand.add(name(2, "linear_attn.in_proj_b.weight"), {4, hidden}, kGdnB, 2);
  hand.add(name(2, "linear_attn.in_proj_a.weight"), {4, hidden}, kGdnA, 2);
  hand.add(name(2, "linear_attn.conv1d.weight"), {16, 1, 4}, kGdnConvQ, 2, -1, gdn_conv);
  hand.add(name(2, "linear_attn.A_log"), {4}, kGdnALog, 2);
  hand.add(name(2, "linear_attn.norm.weight"), {2}, kGdnNorm, 2);
  hand.add(name(2, "linear_attn.out_proj.weight"), {hidden, 8}, kGdnOut, 2);
  const auto halves = hand.fusion(
      {.experts = true, .dim = 1, .pieces = {{"gate", kExpertGate, 4}, {"up", kExpertUp, 4}}});
  const auto stack = hand.fusion({.experts = true, .dim = 1, .pieces = {}});
  hand.add(name(3, "mlp.gate.weight"), {4, hidden}, kRouter, 3);
  hand.add(name(3, "mlp.experts.gate_up_proj"), {4, 8, hidden}, kExpertGate, 3, -1, halves);
  hand.add(name(3, "mlp.experts.down_proj"), {4, hidden, 4}, kExpertDown, 3, -1, stack);
  hand.add(name(3, "mlp.shared_expert.gate_proj.weight"), {4, hidden}, kSharedGate, 3);
  hand.add(name(3, "mlp.shared_expert.up_proj.weight"), {4, hidden}, kSharedUp, 3);
  hand.add(name(3, "mlp.shared_expert.down_proj.weight"), {hidden, 4}, kSharedDown, 3);
  const Fusion alternating = {.experts = true,
                              .dim = 2,
                              .groups = 4,
                              .pieces = {{"gate", kExpertGate, 1}, {"up", kExpertUp, 1}},
                              .transposed = true};
  const Fusion alternating_bias = {
      .experts = true,
      .dim = 1,
      .groups = 4,
      .pieces = {{"gate", kExpertGateBias, 1}, {"up", kExpertUpBias, 1}},
      .transposed = true};
  const auto transposed =
      hand.fusion({.experts = true, .dim = 2, .pieces = {}, .transposed = true});
  hand.add(name(4, "self_attn.sinks"), {4}, kSinks, 4);
  for (const auto& [piece, kind, rows] :
       {std::tuple{"q", kAttentionQ, 8}, std::tuple{"k", kAttentionK, 4},
        std::tuple{"v", kAttentionV, 4}}) {
    hand.add(name(4, std::string("self_attn.") + piece + "_proj.weight"), {rows, hidden}, kind, 4);
    hand.add(name(4, std::string("self_attn.") + piece + "_proj.bias"), {rows}, kind, 4);
  }
  hand.add(name(4, "self_attn.o_proj.bias"), {hidden}, kAttentionOBias, 4);
  hand.add(name(4, "mlp.experts.gate_up_proj"), {4, hidden, 8}, kExpertGate, 4, -1,
           hand.fusion(alternating));
  hand.add(name(4, "mlp.experts.gate_up_proj_bias"), {4, 8}, kExpertGateBias, 4, -1,
           hand.fusion(alternating_bias));
  hand.add(name(4, "mlp.experts.down_proj"), {4, 4, hidden}, kExpertDown, 4, -1, transposed);
  hand.add(name(4, "mlp.experts.down_proj_bias"), {4, hidden}, kExpertDownBias, 4, -1, stack);
  hand.add(name(5, "self_attn.q_proj.weight"), {8, hidden}, kAttentionQ, 5);
  hand.add(name(5, "self_attn.k_proj.weight"), {4, hidden}, kAttentionK, 5);
  hand.add(name(5, "self_attn.v_proj.weight"), {4, hidden}, kAttentionV, 5);
  hand.add(name(5, "self_attn.q_norm.weight"), {8}, kQueryNormFull, 5);
  hand.add(name(5, "self_attn.k_norm.weight"), {4}, kKeyNormFull, 5);
  hand.add("model.norm.weight", {hidden}, kNorm);
  hand.add("lm_head.weight", {10, hidden}, kOutput);
  return model;
}

}  // namespace transload
