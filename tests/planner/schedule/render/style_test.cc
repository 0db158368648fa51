#include "planner/schedule/render/style.h"

#include <gtest/gtest.h>

namespace transload::render {
namespace {

TEST(Style, EscapesForXml) {
  EXPECT_EQ(xml_escaped("<a href=\"x\">&amp;\n"), "&lt;a href=&quot;x&quot;&gt;&amp;amp; ");
}

TEST(Style, QuotesForDot) { EXPECT_EQ(dot_quoted("a\"b\\N&lt;"), "\"a\\\"b\\\\N&amp;lt;\""); }

TEST(Style, WritesRanges) {
  EXPECT_EQ(number_ranges({}), "");
  EXPECT_EQ(number_ranges({3}), "3");
  EXPECT_EQ(number_ranges({0, 1, 2, 3, 8, 10, 11}), "0-3, 8, 10-11");
}

TEST(Style, Counts) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(8, "rank"), "8 ranks");
}

}  // namespace
}  // namespace transload::render
