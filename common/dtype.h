// Element types of tensors. Sizes are in bits so that sub-byte types fit the same arithmetic later.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace transload {

enum class DType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kE8M0,  // power-of-two scale of the MX formats
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
};

inline constexpr int kDTypeCount = static_cast<int>(DType::kBool) + 1;

// Bits of one element.
std::int64_t dtype_bits(DType dtype);

// The name that jobs, models and plans write: "fp32", "bf16", "fp8-e4m3", "uint8", ...
std::string_view dtype_name(DType dtype);

// Also reads the spellings of safetensors ("BF16", "F8_E4M3") and PyTorch ("bfloat16",
// "float8_e4m3fn").
std::optional<DType> parse_dtype(std::string_view name);

// Every canonical name, for error messages.
std::vector<std::string_view> dtype_names();

}  // namespace transload
