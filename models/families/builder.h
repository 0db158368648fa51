// What the families share: appending named parameters, and the ranges of hyper-parameters.
//
// `ParameterBuilder` carries what many parameters in a row have in common (the layer's name prefix,
// its number, the part of the model), so that a family reads like a table of names and shapes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
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
inline constexpr std::int64_t kMaxKernel = 64;  // of a convolution
inline constexpr std::int64_t kMaxTensors = 1 << 22;

// A required hyper-parameter in 1..high, or in low..high.
std::int64_t hyper_parameter(YamlMap& hyper, const std::string& key, std::int64_t high);
std::int64_t hyper_parameter(YamlMap& hyper, const std::string& key, std::int64_t low,
                             std::int64_t high);
// The value of a key that may be missing or null, as config.json files write it.
std::optional<YamlValue> given(YamlMap& hyper, const std::string& key);
// A hyper-parameter in low..high that is `otherwise` where it is not given.
std::int64_t hyper_parameter_or(YamlMap& hyper, const std::string& key, std::int64_t otherwise,
                                std::int64_t low, std::int64_t high);
bool hyper_flag_or(YamlMap& hyper, const std::string& key, bool otherwise);
// A key of config.json that changes which tensors there are, where only one value of it is known
// here. It may be missing; any other value is refused.
void expect_flag(YamlMap& hyper, const std::string& key, bool known);
void expect_number(YamlMap& hyper, const std::string& key, std::int64_t known);
void expect_word(YamlMap& hyper, const std::string& key, const std::string& known);

// num_hidden_layers, vocab_size and tie_word_embeddings (absent: not tied); returns hidden_size.
std::int64_t read_sizes(YamlMap& hyper, Model& model);
// first_k_dense_replace: how many layers, from the first, have no experts.
std::int64_t read_dense_layers(YamlMap& hyper, const Model& model);
// num_nextn_predict_layers of a family whose prediction layers are not known: 0 or absent.
void refuse_prediction_layers(YamlMap& hyper);

// Makes room for the parameters, or refuses a list past kMaxTensors. `sparse_layers`: layers whose
// routed experts are stored one by one, prediction layers included.
void reserve_parameters(YamlMap& hyper, Model& model, std::int64_t sparse_layers,
                        std::int64_t tensors_per_expert = 3);

// What the three matrices of a feed-forward layer are called; no gate: it has two.
struct MlpNames {
  std::string_view gate;
  std::string_view up;
  std::string_view down;
};
inline constexpr MlpNames kProjections = {"gate_proj", "up_proj", "down_proj"};
inline constexpr MlpNames kNumbered = {"w1", "w3", "w2"};
inline constexpr MlpNames kNotGated = {"", "up_proj", "down_proj"};

// Which feed-forward layer it is: a layer's own, or the shared expert beside routed ones.
enum class MlpUse : std::uint8_t { kDense, kShared };

class ParameterBuilder {
 public:
  // `layers`: what the names of decoder layers start with, up to the number.
  explicit ParameterBuilder(Model& model, std::string_view layers = "model.layers.")
      : model_(model), layers_(layers) {}

  // Later names start with LAYERS "N."; part and layer number are noted on each parameter.
  void enter_layer(std::int64_t layer, ModelPart part);
  // The same for layers that are named otherwise.
  void enter(std::string_view prefix, std::int64_t layer, ModelPart part);
  // Later names stand as given, outside any layer.
  void leave_layers();

  void add(std::string_view name, std::initializer_list<std::int64_t> shape, ParameterKind kind);
  // A parameter whose type does not follow the model's.
  void add_typed(std::string_view name, std::initializer_list<std::int64_t> shape,
                 ParameterKind kind, DType dtype);
  void add_fp32(std::string_view name, std::initializer_list<std::int64_t> shape,
                ParameterKind kind);
  // An integer table, which counts as a buffer.
  void add_table(std::string_view name, std::initializer_list<std::int64_t> shape,
                 ParameterKind kind);
  // A parameter of a prediction layer that repeats one of the main model.
  void add_copy(std::string_view name, std::initializer_list<std::int64_t> shape,
                ParameterKind kind);
  // A tensor that stores several logical ones. `kind` is asked for only where the fusion has no
  // pieces; otherwise the parameter goes by its first one.
  void add_fused(std::string_view name, std::initializer_list<std::int64_t> shape,
                 const Fusion& fusion, ParameterKind kind = ParameterKind::kNorm);

  // gate and up [width, hidden], down [hidden, width] below "NAME.".
  void add_mlp(std::string_view name, std::int64_t hidden, std::int64_t width, MlpUse use,
               const MlpNames& names = kProjections);
  // The same for every routed expert, below "NAME.E.".
  void add_experts(std::string_view name, std::int64_t experts, std::int64_t hidden,
                   std::int64_t width, const MlpNames& names = kProjections);

 private:
  Parameter& append(std::string_view name, std::initializer_list<std::int64_t> shape,
                    ParameterKind kind);

  Model& model_;
  std::string layers_;
  std::string prefix_;
  std::int32_t layer_ = -1;
  ModelPart part_ = ModelPart::kMain;
};

// What most families end with: the norm after the last layer, and the output layer unless it is the
// embedding. `prefix` stands before "norm.weight", `head` is the whole name.
void add_model_end(ParameterBuilder& add, const Model& model, std::int64_t hidden,
                   std::string_view norm = "model.norm.weight",
                   std::string_view head = "lm_head.weight");

}  // namespace transload
