#include "topologies/import/hostlist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> expand(const std::string& list) {
  std::int64_t budget = kMaxHostlistNames;
  return expand_hostlist(list, {"FILE", 7, "Nodes"}, budget);
}

std::string refusal(const std::string& list) {
  try {
    expand(list);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Hostlist, ExpandsRangesAndLists) {
  EXPECT_THAT(expand("srv[1108-1110,1201],login1"),
              ElementsAre("srv1108", "srv1109", "srv1110", "srv1201", "login1"));
  EXPECT_THAT(expand("[1101-1102]"), ElementsAre("1101", "1102"));
  EXPECT_THAT(expand("gpu-7.rack.example"), ElementsAre("gpu-7.rack.example"));
  EXPECT_THAT(expand("a[3]b"), ElementsAre("a3b"));
}

TEST(Hostlist, KeepsLeadingZerosOfTheLowEnd) {
  EXPECT_THAT(expand("node[0008-0010]"), ElementsAre("node0008", "node0009", "node0010"));
  EXPECT_THAT(expand("n[8-10]"), ElementsAre("n8", "n9", "n10"));
  EXPECT_THAT(expand("n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
  EXPECT_THAT(expand("n[01,1]"), ElementsAre("n01", "n1"));
}

TEST(Hostlist, LastBracketCountsFastest) {
  EXPECT_THAT(expand("r[1-2]n[01-02]"), ElementsAre("r1n01", "r1n02", "r2n01", "r2n02"));
}

// The oracle nests plain loops over numbers that the test wrote into the text itself.
TEST(Hostlist, RandomListsAgreeWithPlainLoops) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    std::string text;
    std::vector<std::string> expected;
    for (int item = below(3); item >= 0; --item) {
      std::vector<std::string> names = {""};
      for (int piece = below(3); piece >= 0; --piece) {
        const std::string prefix(1, static_cast<char>('a' + below(26)));
        text += prefix + "[";
        std::vector<std::string> numbers;
        for (int range = below(3); range >= 0; --range) {
          const int low = below(120);
          const int high = low + below(12);
          std::string first = std::to_string(low);
          first.insert(0, static_cast<std::size_t>(below(3)), '0');
          text += first + "-" + std::to_string(high) + (range > 0 ? "," : "");
          for (int i = low; i <= high; ++i) {
            std::string digits = std::to_string(i);
            if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
            numbers.push_back(digits);
          }
        }
        text += "]";
        std::vector<std::string> longer;
        for (const std::string& name : names)
          for (const std::string& number : numbers) longer.push_back(name + prefix + number);
        names = longer;
      }
      text += item > 0 ? "," : "";
      expected.insert(expected.end(), names.begin(), names.end());
    }
    ASSERT_EQ(expand(text), expected) << text;
  }
}

TEST(Hostlist, RefusesBrokenListsWithTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"a[1-2", "not closed"},
      {"a1-2]", "without an opening one"},
      {"a[1-[2]]", "inside a bracket"},
      {"a[]", "no number"},
      {"a[5-3]", "falls"},
      {"a[x]", "no number"},
      {"a[1--2]", "no number"},
      {"a,,b", "empty name"},
      {"", "empty name"},
      {"a,", "empty name"},
      {"a[1,]", "no number"},
      {"a b", "blank"},
      {"a[-3]", "no number"}};
  for (const auto& [list, reason] : broken) {
    EXPECT_THAT(refusal(list), HasSubstr(reason)) << list;
    EXPECT_THAT(refusal(list), HasSubstr("FILE:7: Nodes")) << list;
  }
}

TEST(Hostlist, NoListExhaustsMemory) {
  EXPECT_THAT(refusal("a[1-999999999999999999]"), HasSubstr("more than 131072 names"));
  EXPECT_THAT(refusal("a[1-1000]b[1-1000]"), HasSubstr("more than 131072 names"));
  EXPECT_THAT(refusal("a[0-9]b[0-9]c[0-9]d[0-9]e[0-9]f[0-9]g[0-9]h[0-9]i[0-9]j[0-9]"),
              HasSubstr("more than 131072 names"));
  EXPECT_THAT(refusal("a[99999999999999999999]"), HasSubstr("no number"));
  EXPECT_THAT(refusal(std::string(300, 'a')), HasSubstr("longer than 255"));
  // Exactly the limit, over two lists that share one budget.
  std::int64_t budget = kMaxHostlistNames;
  EXPECT_EQ(expand_hostlist("a[1-131071]", {}, budget).size(), 131071U);
  EXPECT_EQ(expand_hostlist("b1", {}, budget).size(), 1U);
  EXPECT_EQ(budget, 0);
  EXPECT_THROW(expand_hostlist("b2", {}, budget), InputError);
}

}  // namespace
}  // namespace transload
