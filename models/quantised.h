// The tensors of a quantised checkpoint: weights in few bits, and the scales that go with them.
//
// A model lists its parameters in the type that trainers hold. Inference engines often load a
// quantised copy, in which some weights have become a tensor of small values and one of scales per
// block. Which weights, which block and which names is a convention of the format; this file knows
// the published ones (facts: 128 x 128 fp8 as DeepSeek introduced it, the MX formats of OCP).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/dtype.h"
#include "models/model.h"

namespace transload {

// How one weight [N, K] is stored; K is the dimension that the layer sums over.
enum class WeightEncoding : std::uint8_t {
  kPlain,        // as it stands
  kFp8Block128,  // e4m3, one scale per 128 x 128 block: [ceil(N/128), ceil(K/128)]
  kMxFp8,        // e4m3, one power of two per 32 values: [N, K/32]
  kMxFp4,        // two e2m1 values per byte [N, K/2], one power of two per 32: [N, K/32]
  kNvFp4,        // two e2m1 values per byte, one e4m3 scale per 16 and one fp32 scale per weight
};

struct QuantisedFormat {
  std::string_view name;
  WeightEncoding linears;  // every linear layer but routed experts
  WeightEncoding experts;
};

// Linear layers here are those that published checkpoints quantise: not embedding, output layer,
// router, eh_proj, the projections of hyper-connections, the vision tower, an indexer's
// weights_proj or compressors.
inline constexpr QuantisedFormat kQuantisedFormats[] = {
    {"fp8-block128", WeightEncoding::kFp8Block128, WeightEncoding::kFp8Block128},
    {"mxfp8", WeightEncoding::kMxFp8, WeightEncoding::kMxFp8},
    {"mxfp4", WeightEncoding::kPlain, WeightEncoding::kMxFp4},
    {"mxfp4-fp8", WeightEncoding::kFp8Block128, WeightEncoding::kMxFp4},  // DeepSeek-V4
    {"nvfp4", WeightEncoding::kPlain, WeightEncoding::kNvFp4},
};

enum class TensorRole : std::uint8_t { kPlain, kValues, kScale };

struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  TensorRole role = TensorRole::kPlain;
  std::uint32_t parameter = 0;  // of the model
};

// The format of that name, or InputError with the nearest one.
const QuantisedFormat& quantised_format(std::string_view name);

// How the format stores a parameter of the model.
WeightEncoding encoding_of(const Model& model, const Parameter& parameter,
                           const QuantisedFormat& format);

// The tensors that a checkpoint of `model` in this format consists of, in the order of its
// parameters, a weight's scales after its values. InputError where a weight does not divide into
// whole blocks of an MX format.
std::vector<StoredTensor> quantised_tensors(const Model& model, const QuantisedFormat& format);

std::int64_t element_count(const StoredTensor& tensor);
// Elements of all scales.
std::int64_t scale_count(const std::vector<StoredTensor>& tensors);

// "plain", "values", "scale".
const char* tensor_role_name(TensorRole role);

}  // namespace transload
