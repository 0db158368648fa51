// The feed-forward layers of DeepSeek-V3, GLM-4.5 and Ling: the first layers dense, all others with
// routed experts and, stored as one wide matrix each, the shared experts.
#pragma once

#include <cstdint>
#include <string>

#include "common/yaml.h"
#include "models/families/builder.h"
#include "models/model.h"

namespace transload {

struct SparseMlp {
  std::int64_t hidden = 0;
  std::int64_t dense_layers = 0;  // the first ones, without experts
  std::int64_t dense_width = 0;
  std::int64_t experts = 0;
  std::int64_t expert_width = 0;
  std::int64_t shared_width = 0;  // of all shared experts together; 0: none
  std::string router_bias;        // below "mlp.gate."; empty: there is none
};

// What config.json calls the numbers of experts, which is where the families differ.
struct ExpertKeys {
  const char* routed;
  const char* shared;
};

SparseMlp read_sparse_mlp(YamlMap& hyper, Model& model, std::int64_t hidden,
                          const ExpertKeys& keys);
// Prediction layers, numbered on from the decoder layers, are sparse.
void add_sparse_mlp(ParameterBuilder& add, const SparseMlp& mlp, std::int64_t layer);

}  // namespace transload
