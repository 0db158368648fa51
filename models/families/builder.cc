#include "models/families/builder.h"

#include <fmt/format.h>

namespace transload {
namespace {

// Tensors of a layer beside its routed experts: an upper end for the families here.
constexpr std::int64_t kOtherTensors = 24;

}  // namespace

std::int64_t hyper_parameter(YamlMap& hyper, const std::string& key, std::int64_t high) {
  return hyper_parameter(hyper, key, 1, high);
}

std::int64_t hyper_parameter(YamlMap& hyper, const std::string& key, std::int64_t low,
                             std::int64_t high) {
  return hyper.required(key).integer_in(low, high);
}

void reserve_parameters(YamlMap& hyper, Model& model, std::int64_t sparse_layers) {
  const std::int64_t tensors =
      sparse_layers * model.experts * 3 + (model.layers + model.mtp_layers) * kOtherTensors + 3;
  if (tensors > kMaxTensors)
    hyper.fail(fmt::format(
        "{} sparse layers of {} experts make about {} tensors; this version takes at most {}",
        sparse_layers, model.experts, tensors, kMaxTensors));
  model.parameters.reserve(static_cast<std::size_t>(tensors));
}

void ParameterBuilder::enter_layer(std::int64_t layer, ModelPart part) {
  prefix_ = fmt::format("model.layers.{}.", layer);
  layer_ = static_cast<std::int32_t>(layer);
  part_ = part;
}

void ParameterBuilder::leave_layers() {
  prefix_.clear();
  layer_ = -1;
  part_ = ModelPart::kMain;
}

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

void ParameterBuilder::add_fp32(std::string_view name, std::initializer_list<std::int64_t> shape,
                                ParameterKind kind) {
  append(name, shape, kind).dtype = DType::kF32;
}

void ParameterBuilder::add_copy(std::string_view name, std::initializer_list<std::int64_t> shape,
                                ParameterKind kind) {
  append(name, shape, kind).part = ModelPart::kMtpCopy;
}

void ParameterBuilder::add_mlp(std::string_view name, std::int64_t hidden, std::int64_t width) {
  const std::string base(name);
  add(base + ".gate_proj.weight", {width, hidden}, ParameterKind::kMlpGateUp);
  add(base + ".up_proj.weight", {width, hidden}, ParameterKind::kMlpGateUp);
  add(base + ".down_proj.weight", {hidden, width}, ParameterKind::kMlpDown);
}

void ParameterBuilder::add_experts(std::int64_t experts, std::int64_t hidden, std::int64_t width) {
  // Nine parameters in ten are made here, so the name's variable part is built once per expert.
  std::string base;
  std::string name;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    base.assign("mlp.experts.").append(fmt::format_int(expert).c_str());
    const auto number = static_cast<std::int32_t>(expert);
    append(name.assign(base).append(".gate_proj.weight"), {width, hidden},
           ParameterKind::kExpertGateUp)
        .expert = number;
    append(name.assign(base).append(".up_proj.weight"), {width, hidden},
           ParameterKind::kExpertGateUp)
        .expert = number;
    append(name.assign(base).append(".down_proj.weight"), {hidden, width},
           ParameterKind::kExpertDown)
        .expert = number;
  }
}

}  // namespace transload
