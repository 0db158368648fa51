#include "models/families/builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace transload {
namespace {

// Tensors of a layer beside its routed experts: an upper end for the families here.
constexpr std::int64_t kOtherTensors = 40;
// Tensors outside the layers.
constexpr std::int64_t kEndTensors = 16;

}  // namespace

std::int64_t hyper_parameter(YamlMap& hyper, const std::string& key, std::int64_t high) {
  return hyper_parameter(hyper, key, 1, high);
}

std::int64_t hyper_parameter(YamlMap& hyper, const std::string& key, std::int64_t low,
                             std::int64_t high) {
  return hyper.required(key).integer_in(low, high);
}

std::optional<YamlValue> given(YamlMap& hyper, const std::string& key) {
  std::optional<YamlValue> value = hyper.optional(key);
  if (value && value->is_null()) return std::nullopt;
  return value;
}

std::int64_t hyper_parameter_or(YamlMap& hyper, const std::string& key, std::int64_t otherwise,
                                std::int64_t low, std::int64_t high) {
  const auto value = given(hyper, key);
  return value ? value->integer_in(low, high) : otherwise;
}

bool hyper_flag_or(YamlMap& hyper, const std::string& key, bool otherwise) {
  const auto value = given(hyper, key);
  return value ? value->boolean() : otherwise;
}

void expect_flag(YamlMap& hyper, const std::string& key, bool known) {
  const auto value = given(hyper, key);
  if (value && value->boolean() != known)
    value->fail(fmt::format("the tensors of such a model are not known here; expected {}", known));
}

void expect_number(YamlMap& hyper, const std::string& key, std::int64_t known) {
  const auto value = given(hyper, key);
  if (value && value->integer() != known)
    value->fail(fmt::format("the tensors of such a model are not known here; expected {}", known));
}

void expect_word(YamlMap& hyper, const std::string& key, const std::string& known) {
  const auto value = given(hyper, key);
  if (value && value->text() != known)
    value->fail(fmt::format("the tensors of such a model are not known here; expected {}", known));
}

std::int64_t read_sizes(YamlMap& hyper, Model& model) {
  model.layers = hyper_parameter(hyper, "num_hidden_layers", kMaxLayers);
  model.vocabulary = hyper_parameter(hyper, "vocab_size", kMaxVocabulary);
  model.tied_embeddings = hyper_flag_or(hyper, "tie_word_embeddings", false);
  return hyper_parameter(hyper, "hidden_size", kMaxHidden);
}

std::int64_t read_dense_layers(YamlMap& hyper, const Model& model) {
  const std::int64_t dense = hyper_parameter(hyper, "first_k_dense_replace", 0, kMaxLayers);
  if (dense > model.layers)
    hyper.required("first_k_dense_replace")
        .fail(fmt::format("{} dense layers are more than the {} layers", dense, model.layers));
  return dense;
}

void refuse_prediction_layers(YamlMap& hyper) {
  expect_number(hyper, "num_nextn_predict_layers", 0);
}

void reserve_parameters(YamlMap& hyper, Model& model, std::int64_t sparse_layers,
                        std::int64_t tensors_per_expert) {
  const std::int64_t tensors = sparse_layers * model.experts * tensors_per_expert +
                               (model.layers + model.mtp_layers) * kOtherTensors + kEndTensors;
  if (tensors > kMaxTensors)
    hyper.fail(fmt::format(
        "{} sparse layers of {} experts make about {} tensors; this version takes at most {}",
        sparse_layers, model.experts, tensors, kMaxTensors));
  model.parameters.reserve(static_cast<std::size_t>(tensors));
}

void ParameterBuilder::enter_layer(std::int64_t layer, ModelPart part) {
  enter(fmt::format("{}{}.", layers_, layer), layer, part);
}

void ParameterBuilder::enter(std::string_view prefix, std::int64_t layer, ModelPart part) {
  prefix_ = prefix;
  layer_ = static_cast<std::int32_t>(layer);
  part_ = part;
}

void ParameterBuilder::leave_layers() { enter("", -1, ModelPart::kMain); }

Parameter& ParameterBuilder::append(std::string_view name,
                                    std::initializer_list<std::int64_t> shape, ParameterKind kind) {
  Parameter& parameter = model_.parameters.emplace_back();
  parameter.name.reserve(prefix_.size() + name.size());
  parameter.name.append(prefix_).append(name);
  parameter.shape = shape;
  parameter.dtype = model_.dtype;
  parameter.kind = kind;
  parameter.part = part_;
  parameter.layer = layer_;
  return parameter;
}

void ParameterBuilder::add(std::string_view name, std::initializer_list<std::int64_t> shape,
                           ParameterKind kind) {
  append(name, shape, kind);
}

void ParameterBuilder::add_typed(std::string_view name, std::initializer_list<std::int64_t> shape,
                                 ParameterKind kind, DType dtype) {
  Parameter& parameter = append(name, shape, kind);
  parameter.dtype = dtype;
  parameter.fixed_dtype = true;
}

void ParameterBuilder::add_fp32(std::string_view name, std::initializer_list<std::int64_t> shape,
                                ParameterKind kind) {
  add_typed(name, shape, kind, DType::kF32);
}

void ParameterBuilder::add_table(std::string_view name, std::initializer_list<std::int64_t> shape,
                                 ParameterKind kind) {
  add_typed(name, shape, kind, DType::kI64);
  model_.parameters.back().part = ModelPart::kBuffer;
}

void ParameterBuilder::add_copy(std::string_view name, std::initializer_list<std::int64_t> shape,
                                ParameterKind kind) {
  append(name, shape, kind).part = ModelPart::kMtpCopy;
}

void ParameterBuilder::add_fused(std::string_view name, std::initializer_list<std::int64_t> shape,
                                 const Fusion& fusion, ParameterKind kind) {
  const auto known = std::find(model_.fusions.begin(), model_.fusions.end(), fusion);
  const auto index = static_cast<std::int32_t>(known - model_.fusions.begin());
  if (known == model_.fusions.end()) model_.fusions.push_back(fusion);
  append(name, shape, fusion.pieces.empty() ? kind : fusion.pieces.front().kind).fusion = index;
}

void ParameterBuilder::add_mlp(std::string_view name, std::int64_t hidden, std::int64_t width,
                               MlpUse use, const MlpNames& names) {
  const bool shared = use == MlpUse::kShared;
  if (!names.gate.empty())
    add(fmt::format("{}.{}.weight", name, names.gate), {width, hidden},
        shared ? ParameterKind::kSharedGate : ParameterKind::kMlpGate);
  add(fmt::format("{}.{}.weight", name, names.up), {width, hidden},
      shared ? ParameterKind::kSharedUp : ParameterKind::kMlpUp);
  add(fmt::format("{}.{}.weight", name, names.down), {hidden, width},
      shared ? ParameterKind::kSharedDown : ParameterKind::kMlpDown);
}

void ParameterBuilder::add_experts(std::string_view name, std::int64_t experts, std::int64_t hidden,
                                   std::int64_t width, const MlpNames& names) {
  // Nine parameters in ten are made here, so the name's variable part is built once per expert.
  std::string base;
  std::string full;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    base.assign(name).append(1, '.').append(fmt::format_int(expert).c_str()).append(1, '.');
    const auto add_one = [&](std::string_view matrix, std::int64_t rows, std::int64_t columns,
                             ParameterKind kind) {
      full.assign(base).append(matrix).append(".weight");
      append(full, {rows, columns}, kind).expert = static_cast<std::int32_t>(expert);
    };
    if (!names.gate.empty()) add_one(names.gate, width, hidden, ParameterKind::kExpertGate);
    add_one(names.up, width, hidden, ParameterKind::kExpertUp);
    add_one(names.down, hidden, width, ParameterKind::kExpertDown);
  }
}

void add_model_end(ParameterBuilder& add, const Model& model, std::int64_t hidden,
                   std::string_view norm, std::string_view head) {
  add.leave_layers();
  add.add(norm, {hidden}, ParameterKind::kNorm);
  if (!model.tied_embeddings) add.add(head, {model.vocabulary, hidden}, ParameterKind::kOutput);
}

}  // namespace transload
