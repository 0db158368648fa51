// Model families: architectures that turn hyper-parameters into a list of parameters.
//
// A family is one function: it reads the keys it knows from the `hyper_parameters` map of a model
// file, checks them, and fills the model. Keys are those of the Hugging Face config.json. Two
// models of one family differ only in their numbers, so a new model is a new file in models/ and no
// code.
#pragma once

#include <string_view>

#include "common/yaml.h"
#include "models/model.h"

namespace transload {

// Fills every field of `model` that follows from the hyper-parameters; `model.dtype` is set before.
using FamilyFunction = void (*)(YamlMap& hyper, Model& model);

// Qwen3 mixture of experts: grouped-query attention with head norms, every layer sparse.
void build_qwen3_moe(YamlMap& hyper, Model& model);

// DeepSeek-V3, R1, Kimi-K2: latent attention, dense layers first, shared expert, prediction layers.
void build_deepseek_v3(YamlMap& hyper, Model& model);

struct Family {
  std::string_view name;
  FamilyFunction build;
};

inline constexpr Family kFamilies[] = {
    {"deepseek_v3", build_deepseek_v3},
    {"qwen3_moe", build_qwen3_moe},
};

}  // namespace transload
