// Conversions between element types: what a tensor is made from, element by element or block by
// block.
//
// Trainers hold weights in one type, engines often load another. A *recipe* says how the elements
// of one tensor are made from those of another: cast one by one, or quantised in blocks that share
// a scale. A blockwise type is two tensors, the values and the scales, each with a recipe of its
// own; both are made from the same blocks. The formulas are in docs/conversions.md; here are the
// types and the extents, which is all that a planner needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "common/dtype.h"

namespace transload {

enum class Recipe : std::uint8_t {
  kAsIs,
  kCast,              // every element by itself
  kFp8Block128,       // e4m3 values of 128 x 128 blocks
  kFp8Block128Scale,  // their fp32 scales
  kMxFp8,             // e4m3 values of 32 neighbours along the last dimension
  kMxFp8Scale,        // their powers of two
};
inline constexpr int kRecipeCount = static_cast<int>(Recipe::kMxFp8Scale) + 1;

// Extents are along the last two dimensions of the tensor that is read; blocks begin at multiples
// of their extents and are cut short at the end of the tensor.
struct RecipeInfo {
  Recipe recipe = Recipe::kAsIs;
  std::string_view name;
  std::optional<DType> dtype;  // of what is made; a cast: any
  // What one made element stands for.
  std::int64_t cell_rows = 1;
  std::int64_t cell_columns = 1;
  // What must be read whole to make any element of it.
  std::int64_t block_rows = 1;
  std::int64_t block_columns = 1;
  bool scale = false;
};
const RecipeInfo& recipe_info(Recipe recipe);

// Where a made tensor comes into being: on the ranks that hold what it is made from, before the
// wire; or on its receivers, out of what arrived there in the source's type.
enum class Making : std::uint8_t { kNotMade, kAtSource, kAtDestination };

// How a side of a job stores a tensor: a plain type, or values with scales.
struct StoredType {
  std::string_view name;  // "fp8-block128"
  DType dtype = DType::kBF16;
  Recipe values = Recipe::kCast;
  Recipe scales = Recipe::kAsIs;
  friend bool operator==(const StoredType&, const StoredType&) = default;
};

// Reads blockwise types and everything that parse_dtype reads. nullopt: no such type, or none that
// can be planned (types of four bits).
std::optional<StoredType> parse_stored_type(std::string_view name);
std::vector<std::string_view> stored_type_names();

}  // namespace transload
