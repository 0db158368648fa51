// Megatron's layout written from its rules in words, for its tests: one rank after the other.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/engines/engines.h"
#include "tests/models/oracle.h"

namespace transload {

// What rank number n holds, in the words of the facts file, sections 2.8 and 3.3.
class MegatronOracle {
 public:
  MegatronOracle(const Model& model, const std::vector<LogicalTensor>& tensors,
                 const ParallelSizes& sizes, const PipelineLayout& layout,
                 const std::vector<Rank>& ranks)
      : model_(model), sizes_(sizes), oracle_(tensors) {
    const std::int64_t stage_size = static_cast<std::int64_t>(ranks.size()) / sizes.pp;
    for (std::size_t number = 0; number < ranks.size(); ++number) {
      rank_ = ranks[number];
      const auto n = static_cast<std::int64_t>(number) % stage_size;
      const auto stage = static_cast<std::int64_t>(number) / stage_size;
      tp_ = n % sizes.tp;
      etp_ = n % sizes.etp;
      ep_ = n / sizes.etp % sizes.ep;
      std::int64_t first = 0;
      for (std::int64_t s = 0; s < stage; ++s) first += layout[static_cast<std::size_t>(s)];
      for (std::int64_t i = 0; i < layout[static_cast<std::size_t>(stage)]; ++i)
        layer("model.layers." + std::to_string(first + i) + ".",
              "decoder.layers." + std::to_string(first + i) + ".");
      const bool last = stage == sizes.pp - 1;
      const bool predicts = last && model.mtp_layers > 0;
      if (stage == 0 || predicts) vocabulary("model.embed_tokens.weight");
      if (last) {
        oracle_.whole(rank_, "model.norm.weight");
        vocabulary("lm_head.weight");
      }
      if (predicts)
        layer("model.layers." + std::to_string(model.layers) + ".",
              "mtp.layers.0.mtp_model_layer.");
    }
  }

  const Image& image() const { return oracle_.image(); }

 private:
  void vocabulary(const std::string& name) {
    if (!oracle_.has(name)) return;
    std::int64_t padded = oracle_.rows(name);
    while (padded % (128 * sizes_.tp) != 0) ++padded;
    oracle_.vocabulary(rank_, name, tp_, sizes_.tp, padded);
  }

  void whole(const std::string& name) {
    if (oracle_.has(name)) oracle_.whole(rank_, name);
  }
  void rows(const std::string& name) {
    if (oracle_.has(name)) oracle_.rows_of(rank_, name, name, tp_, sizes_.tp);
  }
  void columns(const std::string& name) {
    if (oracle_.has(name)) oracle_.columns_of(rank_, name, name, tp_, sizes_.tp);
  }
  // Each part cut on its own, one after the other.
  void stacked(const std::string& buffer, const std::vector<std::string>& parts, std::int64_t index,
               std::int64_t ways) {
    for (const std::string& part : parts)
      if (oracle_.has(part)) oracle_.rows_of(rank_, buffer, part, index, ways);
  }

  // For each query group its q heads, their gates, k, v; the whole list is cut evenly.
  void qkv(const std::string& q, const std::string& gate, const std::string& k,
           const std::string& v, const std::string& buffer) {
    if (!oracle_.has(q)) return;
    std::vector<std::pair<std::string, std::int64_t>> fused;
    const auto add = [&](const std::string& name, std::int64_t group) {
      if (!oracle_.has(name)) return;
      const std::int64_t of_group = oracle_.rows(name) / model_.kv_heads;
      for (std::int64_t row = 0; row < of_group; ++row)
        fused.emplace_back(name, group * of_group + row);
    };
    for (std::int64_t group = 0; group < model_.kv_heads; ++group)
      for (const std::string& name : {q, gate, k, v}) add(name, group);
    const auto part = static_cast<std::int64_t>(fused.size()) / sizes_.tp;
    for (std::int64_t row = tp_ * part; row < (tp_ + 1) * part; ++row) {
      const auto& [name, own] = fused[static_cast<std::size_t>(row)];
      oracle_.append(rank_, buffer, name, own, 0, oracle_.width(name));
    }
  }

  void layer(const std::string& hf, const std::string& mcore) {
    const std::string attention = hf + "self_attn.";
    if (oracle_.has(attention + "q_proj.weight/q"))
      qkv(attention + "q_proj.weight/q", attention + "q_proj.weight/gate",
          attention + "k_proj.weight", attention + "v_proj.weight",
          mcore + "self_attention.linear_qkv.weight");
    for (const std::string leaf : {"weight", "bias"})
      qkv(attention + "q_proj." + leaf, "", attention + "k_proj." + leaf,
          attention + "v_proj." + leaf, mcore + "self_attention.linear_qkv." + leaf);
    columns(attention + "o_proj.weight");
    for (const std::string norm : {"q_norm.weight", "k_norm.weight"}) {
      // Over one head they are whole, over all heads cut like the heads.
      if (!oracle_.has(attention + norm)) continue;
      if (oracle_.rows(attention + norm) == model_.head_dim)
        whole(attention + norm);
      else
        rows(attention + norm);
    }
    for (const char* name : {"o_proj.bias", "q_a_proj.weight", "q_a_layernorm.weight",
                             "kv_a_proj_with_mqa.weight", "kv_a_layernorm.weight"})
      whole(attention + name);
    for (const char* name : {"q_b_proj.weight", "kv_b_proj.weight", "sinks"})
      rows(attention + name);
    for (const char* name : {"input_layernorm.weight", "post_attention_layernorm.weight",
                             "enorm.weight", "hnorm.weight", "shared_head.norm.weight",
                             "mlp.gate.weight", "mlp.gate.e_score_correction_bias"})
      whole(hf + name);
    rows(hf + "eh_proj.weight");

    const auto tp_stack = [&](const std::string& buffer, const std::vector<std::string>& parts) {
      stacked(mcore + buffer, parts, tp_, sizes_.tp);
    };
    tp_stack("mlp.linear_fc1.weight", {hf + "mlp.gate_proj.weight", hf + "mlp.up_proj.weight"});
    columns(hf + "mlp.down_proj.weight");
    for (const char* shared : {"mlp.shared_experts.", "mlp.shared_expert."}) {
      tp_stack("mlp.shared_experts.linear_fc1.weight",
               {hf + shared + "gate_proj.weight", hf + shared + "up_proj.weight"});
      columns(hf + shared + "down_proj.weight");
    }
    const std::string mixer = hf + "mixer.";
    tp_stack("mixer.in_proj.weight",
             {mixer + "in_proj.weight/z", mixer + "in_proj.weight/x", mixer + "in_proj.weight/B",
              mixer + "in_proj.weight/C", mixer + "in_proj.weight/dt"});
    for (const std::string leaf : {"weight", "bias"})
      tp_stack("mixer.conv1d." + leaf,
               {mixer + "conv1d." + leaf + "/x", mixer + "conv1d." + leaf + "/B",
                mixer + "conv1d." + leaf + "/C"});
    for (const char* name : {"A_log", "D", "norm.weight"}) rows(mixer + name);
    columns(mixer + "out_proj.weight");
    const std::string delta = hf + "linear_attn.";
    tp_stack("self_attention.in_proj.weight",
             {delta + "in_proj_qkv.weight/q", delta + "in_proj_qkv.weight/k",
              delta + "in_proj_qkv.weight/v", delta + "in_proj_z.weight",
              delta + "in_proj_b.weight", delta + "in_proj_a.weight"});
    tp_stack("self_attention.conv1d.weight",
             {delta + "conv1d.weight/q", delta + "conv1d.weight/k", delta + "conv1d.weight/v"});
    rows(delta + "A_log");
    if (oracle_.has(delta + "norm.weight"))
      oracle_.whole(rank_, mcore + "self_attention.out_norm.weight", delta + "norm.weight");
    columns(delta + "out_proj.weight");
    experts(hf + "mlp.experts.", mcore + "mlp.experts.linear_fc1.");
  }

  void experts(const std::string& hf, const std::string& fc1) {
    const std::int64_t local = model_.experts / sizes_.ep;
    for (std::int64_t e = 0; e < local; ++e) {
      const std::string global = std::to_string(ep_ * local + e);
      const std::string number = std::to_string(e);
      stacked(fc1 + "weight" + number,
              {hf + global + ".gate_proj.weight", hf + global + ".up_proj.weight",
               hf + "gate_up_proj/" + global + "/gate", hf + "gate_up_proj/" + global + "/up"},
              etp_, sizes_.etp);
      stacked(fc1 + "bias" + number,
              {hf + "gate_up_proj_bias/" + global + "/gate",
               hf + "gate_up_proj_bias/" + global + "/up"},
              etp_, sizes_.etp);
      for (const std::string& down :
           {hf + global + ".down_proj.weight", hf + "down_proj/" + global})
        if (oracle_.has(down)) oracle_.columns_of(rank_, down, down, etp_, sizes_.etp);
      whole(hf + "down_proj_bias/" + global);
    }
  }

  const Model& model_;
  const ParallelSizes& sizes_;
  Oracle oracle_;
  Rank rank_ = 0;
  std::int64_t tp_ = 0, etp_ = 0, ep_ = 0;
};

}  // namespace transload
