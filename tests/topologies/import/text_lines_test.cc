#include "topologies/import/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace transload::import_text {
namespace {

using ::testing::ElementsAre;

TEST(TextLines, CountsLinesAndDropsCarriageReturns) {
  const auto lines = lines_of("a\r\n\nb");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].text, "a");
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].text, "b");
  EXPECT_EQ(lines[2].number, 3);
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_EQ(lines_of("a\n").size(), 1U);
}

TEST(TextLines, CutsWordsAtBlanksAndTabs) {
  EXPECT_THAT(words_of("  a\tbc  d "), ElementsAre("a", "bc", "d"));
  EXPECT_TRUE(words_of(" \t").empty());
}

TEST(TextLines, ReadsWholeNumbersOnly) {
  EXPECT_EQ(whole_number("0042"), 42);
  EXPECT_EQ(whole_number("9223372036854775807"), INT64_MAX);
  for (const char* bad : {"", "-1", "+1", "1.0", "1 ", "a", "9223372036854775808"})
    EXPECT_EQ(whole_number(bad), std::nullopt) << bad;
}

TEST(TextLines, ReadsDecimalsExactly) {
  EXPECT_EQ(decimal_times("41.67", 1'000'000'000), 41'670'000'000);
  EXPECT_EQ(decimal_times("0.03", 1'000'000'000), 30'000'000);
  EXPECT_EQ(decimal_times("103605", 1'000'000), 103'605'000'000);
  // More digits than the unit has: rounded down.
  EXPECT_EQ(decimal_times("1.9999", 100), 199);
  for (const char* bad : {"", ".5", "1.", "1e3", "-2.0", "N/A", "1.2.3", "99999999999999999999"})
    EXPECT_EQ(decimal_times(bad, 1'000'000'000), std::nullopt) << bad;
}

}  // namespace
}  // namespace transload::import_text
