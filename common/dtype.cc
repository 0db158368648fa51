#include "common/dtype.h"

#include <array>

#include "common/check.h"

namespace transload {
namespace {

struct DTypeRow {
  DType dtype;
  std::int64_t bits;
  std::string_view name;
  std::array<std::string_view, 3> also;
};

constexpr std::array<DTypeRow, kDTypeCount> kRows = {{
    {DType::kF64, 64, "fp64", {"F64", "float64", "double"}},
    {DType::kF32, 32, "fp32", {"F32", "float32", "float"}},
    {DType::kF16, 16, "fp16", {"F16", "float16", "half"}},
    {DType::kBF16, 16, "bf16", {"BF16", "bfloat16", ""}},
    {DType::kF8E4M3, 8, "fp8-e4m3", {"F8_E4M3", "float8_e4m3fn", "fp8"}},
    {DType::kF8E5M2, 8, "fp8-e5m2", {"F8_E5M2", "float8_e5m2", ""}},
    {DType::kE8M0, 8, "e8m0", {"F8_E8M0", "float8_e8m0fnu", ""}},
    {DType::kI64, 64, "int64", {"I64", "long", ""}},
    {DType::kI32, 32, "int32", {"I32", "int", ""}},
    {DType::kI16, 16, "int16", {"I16", "short", ""}},
    {DType::kI8, 8, "int8", {"I8", "", ""}},
    {DType::kU8, 8, "uint8", {"U8", "byte", ""}},
    {DType::kBool, 8, "bool", {"BOOL", "", ""}},
}};

const DTypeRow& row(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  TRANSLOAD_CHECK(index < kRows.size(), "dtype is one of the enumerators");
  return kRows[index];
}

}  // namespace

std::int64_t dtype_bits(DType dtype) { return row(dtype).bits; }

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const DTypeRow& candidate : kRows) {
    if (candidate.name == name) return candidate.dtype;
    for (std::string_view other : candidate.also)
      if (other == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  names.reserve(kRows.size());
  for (const DTypeRow& candidate : kRows) names.push_back(candidate.name);
  return names;
}

}  // namespace transload
