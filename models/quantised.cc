#include "models/quantised.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "common/error.h"
#include "common/yaml.h"

namespace transload {
namespace {

constexpr std::int64_t kBlock = 128;
constexpr std::int64_t kMxGroup = 32;
constexpr std::int64_t kNvGroup = 16;
constexpr std::int64_t kValuesPerByte = 2;  // of the four-bit types

constexpr std::string_view kWeight = ".weight";

// Kinds whose matrices are quantised as linear layers.
constexpr std::array kLinearKinds = {
    ParameterKind::kAttentionQ,     ParameterKind::kAttentionGate, ParameterKind::kAttentionK,
    ParameterKind::kAttentionV,     ParameterKind::kAttentionO,    ParameterKind::kMlaQueryDown,
    ParameterKind::kMlaKvDown,      ParameterKind::kMlaQueryUp,    ParameterKind::kMlaKvUp,
    ParameterKind::kMlaGate,        ParameterKind::kIndexer,       ParameterKind::kMlpGate,
    ParameterKind::kMlpUp,          ParameterKind::kMlpDown,       ParameterKind::kSharedGate,
    ParameterKind::kSharedUp,       ParameterKind::kSharedDown,    ParameterKind::kLatentProjection,
    ParameterKind::kMambaZ,         ParameterKind::kMambaOut,      ParameterKind::kGdnQ,
    ParameterKind::kGdnZ,           ParameterKind::kGdnB,          ParameterKind::kGdnA,
    ParameterKind::kGdnOut,         ParameterKind::kKdaRows,       ParameterKind::kKdaOut,
    ParameterKind::kGroupedOutDown, ParameterKind::kGroupedOutUp,
};

constexpr std::array kExpertKinds = {ParameterKind::kExpertGate, ParameterKind::kExpertUp,
                                     ParameterKind::kExpertDown};

// Matrices of those kinds that published checkpoints keep in high precision all the same.
constexpr std::array<std::string_view, 3> kKeptWhole = {
    "indexer.weights_proj.weight", "compressor.wkv.weight", "compressor.wgate.weight"};

template <typename List, typename Value>
bool contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

WeightEncoding encoding_of_weight(const Parameter& parameter, bool stacked,
                                  const QuantisedFormat& format) {
  const bool matrix = stacked ? parameter.shape.size() == 3
                              : parameter.shape.size() == 2 && parameter.name.ends_with(kWeight);
  if (!matrix || parameter.fixed_dtype) return WeightEncoding::kPlain;
  if (contains(kExpertKinds, parameter.kind)) return format.experts;
  const bool kept = std::any_of(kKeptWhole.begin(), kKeptWhole.end(), [&](std::string_view end) {
    return parameter.name.ends_with(end);
  });
  return !kept && contains(kLinearKinds, parameter.kind) ? format.linears : WeightEncoding::kPlain;
}

struct Suffixes {
  std::string_view values;
  std::string_view scales;
  std::string_view global = "";
};

// What stands in place of ".weight", or behind a name without it.
Suffixes suffixes_of(WeightEncoding encoding, const Model& model, bool stacked, bool transposed) {
  const bool four_bits = encoding == WeightEncoding::kMxFp4 || encoding == WeightEncoding::kNvFp4;
  if (model.family == "deepseek_v4") return {".weight", ".scale", ".global_scale"};
  if (stacked && transposed && four_bits) return {"_blocks", "_scales", "_global_scales"};
  const bool fp8 = encoding == WeightEncoding::kFp8Block128;
  if (stacked) return {four_bits ? "_packed" : "", fp8 ? "_scale_inv" : "_scale", "_global_scale"};
  return {four_bits ? ".weight_packed" : ".weight", fp8 ? ".weight_scale_inv" : ".weight_scale",
          ".weight_global_scale"};
}

std::int64_t blocks(std::int64_t extent) { return (extent + kBlock - 1) / kBlock; }

std::int64_t groups(const Parameter& parameter, std::int64_t columns, std::int64_t size) {
  if (columns % size != 0)
    throw InputError({"", 0, parameter.name},
                     fmt::format("{} columns do not divide into groups of {} with one scale each",
                                 columns, size));
  return columns / size;
}

class Writer {
 public:
  Writer(const Model& model, std::vector<StoredTensor>& tensors)
      : model_(model), tensors_(tensors) {}

  void plain(std::uint32_t index) {
    const Parameter& parameter = model_.parameters[index];
    tensors_.push_back(
        {parameter.name, parameter.shape, parameter.dtype, TensorRole::kPlain, index});
  }

  void quantised(std::uint32_t index, WeightEncoding encoding, const Fusion* fusion) {
    const Parameter& parameter = model_.parameters[index];
    const bool stacked = fusion != nullptr && fusion->experts;
    const bool transposed = fusion != nullptr && fusion->transposed;
    suffixes_ = suffixes_of(encoding, model_, stacked, transposed);
    base_ = parameter.name;
    if (base_.ends_with(kWeight)) base_.erase(base_.size() - kWeight.size());
    index_ = index;
    leading_.assign(parameter.shape.begin(), parameter.shape.end() - 2);
    std::int64_t rows = parameter.shape[parameter.shape.size() - 2];
    std::int64_t columns = parameter.shape.back();
    if (encoding == WeightEncoding::kFp8Block128) {
      add(suffixes_.values, {rows, columns}, DType::kF8E4M3, TensorRole::kValues);
      const DType scale = model_.family == "deepseek_v4" ? DType::kE8M0 : DType::kF32;
      add(suffixes_.scales, {blocks(rows), blocks(columns)}, scale, TensorRole::kScale);
      return;
    }
    // Groups lie along the summed dimension, which these formats store last.
    if (transposed) std::swap(rows, columns);
    grouped(parameter, encoding, rows, columns, stacked && transposed);
  }

 private:
  void grouped(const Parameter& parameter, WeightEncoding encoding, std::int64_t rows,
               std::int64_t columns, bool as_blocks) {
    const bool nv = encoding == WeightEncoding::kNvFp4;
    const std::int64_t size = nv ? kNvGroup : kMxGroup;
    const std::int64_t count = groups(parameter, columns, size);
    if (encoding == WeightEncoding::kMxFp8)
      add(suffixes_.values, {rows, columns}, DType::kF8E4M3, TensorRole::kValues);
    else if (as_blocks)  // gpt-oss keeps the groups apart: [rows, groups, bytes of one]
      add(suffixes_.values, {rows, count, size / kValuesPerByte}, DType::kU8, TensorRole::kValues);
    else
      add(suffixes_.values, {rows, columns / kValuesPerByte}, DType::kU8, TensorRole::kValues);
    add(suffixes_.scales, {rows, count}, nv ? DType::kF8E4M3 : DType::kE8M0, TensorRole::kScale);
    // One per weight, so one per expert of a stack.
    if (nv) add(suffixes_.global, {}, DType::kF32, TensorRole::kScale);
  }

  void add(std::string_view suffix, std::initializer_list<std::int64_t> shape, DType dtype,
           TensorRole role) {
    StoredTensor& tensor = tensors_.emplace_back();
    tensor.name.reserve(base_.size() + suffix.size());
    tensor.name.append(base_).append(suffix);
    tensor.shape = leading_;
    tensor.shape.insert(tensor.shape.end(), shape);
    if (tensor.shape.empty()) tensor.shape.push_back(1);
    tensor.dtype = dtype;
    tensor.role = role;
    tensor.parameter = index_;
  }

  const Model& model_;
  std::vector<StoredTensor>& tensors_;
  Suffixes suffixes_;
  std::string base_;
  std::uint32_t index_ = 0;
  std::vector<std::int64_t> leading_;  // the experts of a stack
};

}  // namespace

WeightEncoding encoding_of(const Model& model, const Parameter& parameter,
                           const QuantisedFormat& format) {
  const bool stacked =
      parameter.fusion >= 0 && model.fusions[static_cast<std::size_t>(parameter.fusion)].experts;
  return encoding_of_weight(parameter, stacked, format);
}

const QuantisedFormat& quantised_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const QuantisedFormat& format : kQuantisedFormats) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  const auto near = nearest_word(name, names);
  throw InputError(fmt::format("no quantised format is called {}{}; there are {}", name,
                               near ? fmt::format(" (did you mean {}?)", *near) : "",
                               fmt::join(names, ", ")));
}

std::vector<StoredTensor> quantised_tensors(const Model& model, const QuantisedFormat& format) {
  std::vector<StoredTensor> tensors;
  tensors.reserve(2 * model.parameters.size());
  Writer writer(model, tensors);
  for (std::uint32_t index = 0; index < model.parameters.size(); ++index) {
    const Parameter& parameter = model.parameters[index];
    const Fusion* fusion =
        parameter.fusion < 0 ? nullptr : &model.fusions[static_cast<std::size_t>(parameter.fusion)];
    const bool stacked = fusion != nullptr && fusion->experts;
    const WeightEncoding encoding = encoding_of_weight(parameter, stacked, format);
    if (encoding == WeightEncoding::kPlain)
      writer.plain(index);
    else
      writer.quantised(index, encoding, fusion);
  }
  return tensors;
}

std::int64_t element_count(const StoredTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  return count;
}

std::int64_t scale_count(const std::vector<StoredTensor>& tensors) {
  std::int64_t count = 0;
  for (const StoredTensor& tensor : tensors)
    if (tensor.role == TensorRole::kScale) count += element_count(tensor);
  return count;
}

const char* tensor_role_name(TensorRole role) {
  switch (role) {
    case TensorRole::kPlain:
      return "plain";
    case TensorRole::kValues:
      return "values";
    case TensorRole::kScale:
      return "scale";
  }
  return "?";
}

}  // namespace transload
