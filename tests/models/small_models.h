// Models of a few layers, with every kind of tensor that their family has, and ways to look at
// them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/yaml.h"
#include "models/library.h"
#include "models/model.h"

namespace transload {

// Reads a model of `family` from the flow map of its hyper-parameters.
inline Model model_of(const std::string& family, const std::string& hyper_parameters) {
  return read_model(YamlValue::from_text("family: " + family +
                                             "\ndtype: bf16\nsources: [made up]\n"
                                             "hyper_parameters: {" +
                                             hyper_parameters + "}\n",
                                         "small.yaml"),
                    "small-" + family);
}

inline const Parameter& parameter_named(const Model& model, const std::string& name) {
  const auto found =
      std::find_if(model.parameters.begin(), model.parameters.end(),
                   [&](const Parameter& parameter) { return parameter.name == name; });
  if (found == model.parameters.end())
    throw std::runtime_error(model.name + " has no parameter " + name);
  return *found;
}

inline std::size_t place_of(const Model& model, const std::string& name) {
  return static_cast<std::size_t>(&parameter_named(model, name) - model.parameters.data());
}

// The message of the InputError that `action` throws; "" if it throws none.
template <typename Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Hidden 64, 6 layers of which 2 dense, 12 experts, one prediction layer with copies.
inline Model tiny_deepseek() {
  return model_of("deepseek_v3",
                  "hidden_size: 64, num_hidden_layers: 6, first_k_dense_replace: 2, "
                  "intermediate_size: 96, moe_intermediate_size: 32, n_routed_experts: 12, "
                  "n_shared_experts: 2, num_attention_heads: 8, q_lora_rank: 24, "
                  "kv_lora_rank: 16, qk_nope_head_dim: 6, qk_rope_head_dim: 2, v_head_dim: 4, "
                  "vocab_size: 1000, num_nextn_predict_layers: 1, mtp_stores_copies: true");
}

}  // namespace transload
