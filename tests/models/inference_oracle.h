// The layout of the inference engines written from their rules in words, for the tests of vLLM,
// SGLang and TensorRT-LLM: one rank of a stage, with the numbers that the engine gives it.
#pragma once

#include <string>
#include <vector>

#include "tests/models/oracle.h"

namespace transload {

// A rank's part `index` of `ways`.
struct PartOf {
  std::int64_t index = 0;
  std::int64_t ways = 1;
};

struct InferenceRank {
  Rank rank = 0;
  bool first_stage = true, last_stage = true;
  std::vector<std::int64_t> layers;
  PartOf attention, mlp, shared, embedding, output, expert;
  std::vector<std::int64_t> experts;  // by slot
};

struct InferenceNames {
  std::string w13 = "w13_", qkv_down = "fused_qkv_a_proj";
  bool up_first = false;
  std::int64_t vocabulary_multiple = 64;  // 0: a multiple of the ways
};

class InferenceOracle {
 public:
  InferenceOracle(const Model& model, const std::vector<LogicalTensor>& tensors,
                  InferenceNames names)
      : model_(model), oracle_(tensors), names_(std::move(names)) {}

  void add(const InferenceRank& rank) {
    at_ = rank;
    if (rank.first_stage) vocabulary("model.embed_tokens.weight", rank.embedding);
    for (const std::int64_t layer : rank.layers)
      add_layer("model.layers." + std::to_string(layer) + ".");
    if (!rank.last_stage) return;
    whole("model.norm.weight");
    vocabulary("lm_head.weight", rank.output);
  }
  const Image& image() const { return oracle_.image(); }
  // A layer beyond the decoder's.
  void add_layer(const std::string& name) {
    attention(name + "self_attn.");
    for (const char* norm :
         {"input_layernorm.weight", "post_attention_layernorm.weight", "enorm.weight",
          "hnorm.weight", "eh_proj.weight", "shared_head.norm.weight", "mlp.gate.weight",
          "mlp.gate.e_score_correction_bias"})
      whole(name + norm);
    feed_forward(name + "mlp.", at_.mlp);
    feed_forward(name + "mlp.shared_experts.", at_.shared);
    feed_forward(name + "mlp.shared_expert.", at_.shared);
    mamba(name + "mixer.");
    delta_net(name + "linear_attn.");
    experts(name + "mlp.experts.");
  }
  void set(const InferenceRank& rank) { at_ = rank; }

 private:
  void vocabulary(const std::string& name, const PartOf& part) {
    if (!oracle_.has(name)) return;
    const std::int64_t multiple =
        names_.vocabulary_multiple == 0 ? part.ways : names_.vocabulary_multiple;
    std::int64_t padded = oracle_.rows(name);
    while (padded % multiple != 0) ++padded;
    oracle_.vocabulary(at_.rank, name, part.index, part.ways, padded);
  }
  void whole(const std::string& name) {
    if (oracle_.has(name)) oracle_.whole(at_.rank, name);
  }
  void rows(const std::string& buffer, const std::string& name, const PartOf& part) {
    if (oracle_.has(name)) oracle_.rows_of(at_.rank, buffer, name, part.index, part.ways);
  }
  void columns(const std::string& buffer, const std::string& name, const PartOf& part) {
    if (oracle_.has(name)) oracle_.columns_of(at_.rank, buffer, name, part.index, part.ways);
  }

  // q heads [r * nh / tp, ...); with tp above the KV heads, KV head r / (tp / ng).
  void attention(const std::string& name) {
    const PartOf& tp = at_.attention;
    const PartOf kv = tp.ways <= model_.kv_heads
                          ? tp
                          : PartOf{tp.index / (tp.ways / model_.kv_heads), model_.kv_heads};
    for (const std::string leaf : {"weight", "bias"}) {
      const std::string buffer = name + "qkv_proj." + leaf;
      rows(buffer, name + "q_proj." + leaf, tp);
      if (leaf == "weight") gated_query(buffer, name + "q_proj.weight", tp);
      rows(buffer, name + "k_proj." + leaf, kv);
      rows(buffer, name + "v_proj." + leaf, kv);
    }
    columns(name + "o_proj.weight", name + "o_proj.weight", tp);
    whole(name + "o_proj.bias");
    rows(name + "sinks", name + "sinks", tp);
    for (const std::string norm : {"q_norm.weight", "k_norm.weight"}) {
      // Over one head they are whole, over all heads cut like the heads.
      if (!oracle_.has(name + norm)) continue;
      const bool one_head = oracle_.rows(name + norm) == model_.head_dim;
      rows(name + norm, name + norm, one_head ? PartOf{} : norm[0] == 'q' ? tp : kv);
    }
    for (const char* norm : {"q_a_layernorm.weight", "kv_a_layernorm.weight"}) whole(name + norm);
    const std::string down = name + names_.qkv_down + ".weight";
    rows(down, name + "q_a_proj.weight", {});
    rows(down, name + "kv_a_proj_with_mqa.weight", {});
    rows(name + "q_b_proj.weight", name + "q_b_proj.weight", tp);
    rows(name + "kv_b_proj.weight", name + "kv_b_proj.weight", tp);
  }
  // Per head its query rows, then its gate rows.
  void gated_query(const std::string& buffer, const std::string& name, const PartOf& tp) {
    if (!oracle_.has(name + "/q")) return;
    const std::int64_t heads = model_.query_heads / tp.ways;
    for (std::int64_t head = tp.index * heads; head < (tp.index + 1) * heads; ++head)
      for (const char* piece : {"/q", "/gate"})
        for (std::int64_t row = 0; row < model_.head_dim; ++row)
          oracle_.append(at_.rank, buffer, name + piece, head * model_.head_dim + row, 0,
                         oracle_.width(name + piece));
  }
  void feed_forward(const std::string& name, const PartOf& part) {
    rows(name + "gate_up_proj.weight", name + "gate_proj.weight", part);
    rows(name + "gate_up_proj.weight", name + "up_proj.weight", part);
    columns(name + "down_proj.weight", name + "down_proj.weight", part);
  }
  void mamba(const std::string& name) {
    const PartOf& tp = at_.attention;
    const PartOf group = model_.mamba_groups == 1 ? PartOf{} : tp;
    for (const std::string part : {"z", "x", "B", "C", "dt"})
      rows(name + "in_proj.weight", name + "in_proj.weight/" + part,
           part == "B" || part == "C" ? group : tp);
    for (const std::string leaf : {"weight", "bias"})
      for (const std::string part : {"x", "B", "C"})
        rows(name + "conv1d." + leaf, name + "conv1d." + leaf + "/" + part,
             part == "x" ? tp : group);
    rows(name + "A", name + "A_log", tp);
    for (const char* own : {"D", "norm.weight"}) rows(name + own, name + own, tp);
    columns(name + "out_proj.weight", name + "out_proj.weight", tp);
  }
  void delta_net(const std::string& name) {
    const PartOf& tp = at_.attention;
    for (const char* part : {"in_proj_qkv.weight/q", "in_proj_qkv.weight/k", "in_proj_qkv.weight/v",
                             "in_proj_z.weight"})
      rows(name + "in_proj_qkvz.weight", name + part, tp);
    for (const char* part : {"in_proj_b.weight", "in_proj_a.weight"})
      rows(name + "in_proj_ba.weight", name + part, tp);
    for (const char* part : {"q", "k", "v"})
      rows(name + "conv1d.weight", name + "conv1d.weight/" + part, tp);
    rows(name + "A_log", name + "A_log", tp);
    whole(name + "norm.weight");
    columns(name + "out_proj.weight", name + "out_proj.weight", tp);
  }

  void experts(const std::string& name) {
    for (const std::int64_t expert : at_.experts) {
      const std::string e = std::to_string(expert);
      std::string gate = name + e + ".gate_proj.weight";
      std::string up = name + e + ".up_proj.weight";
      std::string down = name + e + ".down_proj.weight";
      if (oracle_.has(name + "gate_up_proj/" + e + "/up")) {
        gate = name + "gate_up_proj/" + e + "/gate";
        up = name + "gate_up_proj/" + e + "/up";
        down = name + "down_proj/" + e;
      }
      if (!oracle_.has(up)) continue;
      // gpt-oss alone stores expert biases, and keeps gate and up alternating.
      const std::string bias = name + "gate_up_proj_bias/" + e;
      if (oracle_.has(bias + "/up")) {
        alternating(name + names_.w13 + "weight", gate, up);
        alternating(name + names_.w13 + "bias", bias + "/gate", bias + "/up");
        // Added once: on the first of the ranks that share an expert.
        if (at_.expert.index == 0) whole_to(name + "w2_bias", name + "down_proj_bias/" + e);
      } else {
        rows(name + names_.w13 + "weight", names_.up_first ? up : gate, at_.expert);
        rows(name + names_.w13 + "weight", names_.up_first ? gate : up, at_.expert);
      }
      columns(name + "w2_weight", down, at_.expert);
    }
  }
  void whole_to(const std::string& buffer, const std::string& name) {
    oracle_.whole(at_.rank, buffer, name);
  }
  void alternating(const std::string& buffer, const std::string& gate, const std::string& up) {
    const std::int64_t part = oracle_.rows(gate) / at_.expert.ways;
    for (std::int64_t row = at_.expert.index * part; row < (at_.expert.index + 1) * part; ++row)
      for (const std::string& name : {gate, up})
        oracle_.append(at_.rank, buffer, name, row, 0, oracle_.width(name));
  }

  const Model& model_;
  Oracle oracle_;
  InferenceNames names_;
  InferenceRank at_;
};

}  // namespace transload
