#include "planner/job/name_globs.h"

#include <gtest/gtest.h>

namespace transload {
namespace {

TEST(NameGlobs, Matches) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("*", "a.b.c"));
  EXPECT_TRUE(glob_matches("model.*.weight", "model.layers.0.weight"));
  EXPECT_FALSE(glob_matches("model.*.weight", "model.layers.0.bias"));
  EXPECT_TRUE(glob_matches("a?c", "abc"));
  EXPECT_FALSE(glob_matches("a?c", "ac"));
  EXPECT_TRUE(glob_matches("*a*b", "xaxbxab"));
  EXPECT_FALSE(glob_matches("*a*b", "xaxbx"));
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_TRUE(glob_matches("a**", "a"));
}

TEST(NameGlobs, PartsMatchByThePublishedName) {
  NameGlobs globs = NameGlobs::parse(YamlValue::from_text("[\"*.q_proj.weight\"]", "job"));
  EXPECT_TRUE(globs.match("layers.0.q_proj.weight"));
  EXPECT_TRUE(globs.match("layers.0.q_proj.weight/gate"));
  EXPECT_FALSE(globs.match("layers.0.k_proj.weight"));
  NameGlobs part = NameGlobs::parse(YamlValue::from_text("\"*/gate\"", "job"));
  EXPECT_TRUE(part.match("layers.0.q_proj.weight/gate"));
  EXPECT_FALSE(part.match("layers.0.q_proj.weight/q"));
}

}  // namespace
}  // namespace transload
