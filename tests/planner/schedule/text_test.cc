#include "planner/schedule/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace transload {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

TEST(Text, KeepsWellFormedUtf8AndReplacesTheRest) {
  EXPECT_EQ(valid_utf8("gr\xC3\xBC\xC3\x9F"
                       "e \xF0\x9F\x9A\x9A"),
            "gr\xC3\xBC\xC3\x9F"
            "e \xF0\x9F\x9A\x9A");
  EXPECT_EQ(valid_utf8("a\xFFz"), std::string("a") + kReplacement + "z");
  // Cut short; overlong form of '/'; surrogate D800; above U+10FFFF: one replacement per byte.
  EXPECT_EQ(valid_utf8("\xC3"), kReplacement);
  EXPECT_EQ(valid_utf8("\xC0\xAF"), std::string(kReplacement) + kReplacement);
  EXPECT_EQ(valid_utf8("\xED\xA0\x80").size(), 9u);
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80").size(), 12u);
}

TEST(Text, QuotesForJsonWhateverTheBytes) {
  const std::string odd = "q\" b\\ n\n t\x01 \xFF";
  EXPECT_EQ(nlohmann::json::parse(json_quoted(odd)).get<std::string>(),
            std::string("q\" b\\ n\n t\x01 ") + kReplacement);
}

TEST(Text, ShortensByCharactersNotBytes) {
  EXPECT_EQ(shortened("abcd", 4), "abcd");
  EXPECT_EQ(shortened("abcde", 4), "abc\xE2\x80\xA6");
  EXPECT_EQ(shortened("\xC3\xBC\xC3\xBC\xC3\xBC", 2), "\xC3\xBC\xE2\x80\xA6");
  EXPECT_EQ(width_of("\xC3\xBC\xC3\xBC"), 2u);
}

TEST(Text, PutsNamesOnOneLine) { EXPECT_EQ(one_line("a\nb\tc"), "a b c"); }

}  // namespace
}  // namespace transload
