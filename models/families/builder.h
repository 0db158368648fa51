// What the families share: appending named parameters, and the ranges of hyper-parameters.
//
// `ParameterBuilder` carries what many parameters in a row have in common (the layer's name prefix,
// its number, the part of the model), so that a family reads like a table of names and shapes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "common/yaml.h"
#include "models/model.h"

namespace transload {

// Upper ends of hyper-parameters, far above any published model. They keep element counts within 64
// bits and the list within memory, whatever a file says.
inline constexpr std::int64_t kMaxHidden = 1 << 17;
inline constexpr std::int64_t kMaxWidth = 1 << 18;
inline constexpr std::int64_t kMaxVocabulary = 1 << 24;
inline constexpr std::int64_t kMaxHeads = 1 << 12;
inline constexpr std::int64_t kMaxHeadDim = 1 << 12;
inline constexpr std::int64_t kMaxLayers = 1 << 11;
inline constexpr std::int64_t kMaxMtpLayers = 16;
inline constexpr std::int64_t kMaxExperts = 1 << 16;
inline constexpr std::int64_t kMaxSharedExperts = 64;
inline constexpr std::int64_t kMaxTensors = 1 << 22;

// A required hyper-parameter in 1..high, or in low..high.
std::int64_t hyper_parameter(YamlMap& hyper, const std::string& key, std::int64_t high);
std::int64_t hyper_parameter(YamlMap& hyper, const std::string& key, std::int64_t low,
                             std::int64_t high);

// Makes room for the parameters, or refuses a list past kMaxTensors. `sparse_layers`: layers with
// routed experts, prediction layers included.
void reserve_parameters(YamlMap& hyper, Model& model, std::int64_t sparse_layers);

class ParameterBuilder {
 public:
  explicit ParameterBuilder(Model& model) : model_(model) {}

  // Later names start with "model.layers.N."; part and layer number are noted on each parameter.
  void enter_layer(std::int64_t layer, ModelPart part);
  // Later names stand as given, outside any layer.
  void leave_layers();

  void add(std::string_view name, std::initializer_list<std::int64_t> shape, ParameterKind kind);
  void add_fp32(std::string_view name, std::initializer_list<std::int64_t> shape,
                ParameterKind kind);
  // A parameter of a prediction layer that repeats one of the main model.
  void add_copy(std::string_view name, std::initializer_list<std::int64_t> shape,
                ParameterKind kind);
  // gate_proj, up_proj [width, hidden] and down_proj [hidden, width] below "NAME.".
  void add_mlp(std::string_view name, std::int64_t hidden, std::int64_t width);
  // The same three for every routed expert, below "mlp.experts.E.".
  void add_experts(std::int64_t experts, std::int64_t hidden, std::int64_t width);

 private:
  Parameter& append(std::string_view name, std::initializer_list<std::int64_t> shape,
                    ParameterKind kind);

  Model& model_;
  std::string prefix_;
  std::int32_t layer_ = -1;
  ModelPart part_ = ModelPart::kMain;
};

}  // namespace transload
