#include "common/recipe.h"

#include <array>

#include "common/check.h"

namespace transload {
namespace {

// Block extents: DeepSeek-V3's weight_scale_inv [ceil(N/128), ceil(K/128)], and OCP Microscaling
// Formats 1.0, groups of 32 along K.
constexpr std::array<RecipeInfo, kRecipeCount> kRecipes = {{
    {Recipe::kAsIs, "as-is", std::nullopt},
    {Recipe::kCast, "cast", std::nullopt},
    {Recipe::kFp8Block128, "fp8-block128", DType::kF8E4M3, 1, 1, 128, 128},
    {Recipe::kFp8Block128Scale, "fp8-block128-scale", DType::kF32, 128, 128, 128, 128, true},
    {Recipe::kMxFp8, "mxfp8", DType::kF8E4M3, 1, 1, 1, 32},
    {Recipe::kMxFp8Scale, "mxfp8-scale", DType::kE8M0, 1, 32, 1, 32, true},
}};

constexpr std::array kBlockwise = {
    StoredType{"fp8-block128", DType::kF8E4M3, Recipe::kFp8Block128, Recipe::kFp8Block128Scale},
    StoredType{"mxfp8", DType::kF8E4M3, Recipe::kMxFp8, Recipe::kMxFp8Scale},
};

}  // namespace

const RecipeInfo& recipe_info(Recipe recipe) {
  const auto index = static_cast<std::size_t>(recipe);
  TRANSLOAD_CHECK(index < kRecipes.size(), "recipe is one of the enumerators");
  return kRecipes[index];
}

std::optional<StoredType> parse_stored_type(std::string_view name) {
  for (const StoredType& type : kBlockwise)
    if (type.name == name) return type;
  const auto dtype = parse_dtype(name);
  if (!dtype) return std::nullopt;
  return StoredType{dtype_name(*dtype), *dtype, Recipe::kCast, Recipe::kAsIs};
}

std::vector<std::string_view> stored_type_names() {
  std::vector<std::string_view> names = dtype_names();
  for (const StoredType& type : kBlockwise) names.push_back(type.name);
  return names;
}

}  // namespace transload
