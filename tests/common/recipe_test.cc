#include "common/recipe.h"

#include <gtest/gtest.h>

namespace transload {
namespace {

TEST(Recipe, TableIsInTheOrderOfTheEnumerators) {
  for (int i = 0; i < kRecipeCount; ++i)
    EXPECT_EQ(recipe_info(static_cast<Recipe>(i)).recipe, static_cast<Recipe>(i));
}

// Scales of DeepSeek-V3: one fp32 value per 128 x 128; MX: one power of two per 32 along K.
TEST(Recipe, BlocksAndCells) {
  const RecipeInfo& values = recipe_info(Recipe::kFp8Block128);
  EXPECT_EQ(values.dtype, DType::kF8E4M3);
  EXPECT_EQ(values.cell_rows * values.cell_columns, 1);
  EXPECT_EQ(values.block_rows, 128);
  EXPECT_EQ(values.block_columns, 128);
  const RecipeInfo& scales = recipe_info(Recipe::kMxFp8Scale);
  EXPECT_EQ(scales.dtype, DType::kE8M0);
  EXPECT_TRUE(scales.scale);
  EXPECT_EQ(scales.cell_rows, 1);
  EXPECT_EQ(scales.cell_columns, 32);
}

TEST(Recipe, StoredTypesByName) {
  const auto block = parse_stored_type("fp8-block128");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->values, Recipe::kFp8Block128);
  EXPECT_EQ(block->scales, Recipe::kFp8Block128Scale);
  const auto plain = parse_stored_type("bfloat16");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->dtype, DType::kBF16);
  EXPECT_EQ(plain->name, "bf16");
  EXPECT_EQ(plain->scales, Recipe::kAsIs);
  EXPECT_FALSE(parse_stored_type("nvfp4"));
  EXPECT_FALSE(parse_stored_type("fp7"));
}

}  // namespace
}  // namespace transload
