#include "topologies/import/switch_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"

namespace transload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refusal(const std::vector<NamedSwitch>& listed) {
  try {
    build_switch_tree(listed, "FILE");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SwitchTree, CountsTiersFromTheLeaves) {
  // core - spine - leaf1, and leaf2 straight at the core.
  const auto switches = build_switch_tree({{"core", {"spine", "leaf2"}, 1},
                                           {"spine", {"leaf1"}, 2},
                                           {"leaf1", {}, 3},
                                           {"leaf2", {}, 4}},
                                          "FILE");
  EXPECT_EQ(switches[0].tier, 3);
  EXPECT_EQ(switches[1].tier, 2);
  EXPECT_EQ(switches[2].tier, 1);
  EXPECT_EQ(switches[3].tier, 1);
  EXPECT_THAT(switches[2].parents, ElementsAre(1));
  EXPECT_THAT(switches[3].parents, ElementsAre(0));
  EXPECT_THAT(switches[0].parents, IsEmpty());
  EXPECT_EQ(switches[3].parent_rates.size(), 1U);
  EXPECT_EQ(separate_trees(switches), "");
}

TEST(SwitchTree, LeafOfTwoSpinesHasTwoParents) {
  const auto switches =
      build_switch_tree({{"s1", {"l"}, 1}, {"s2", {"l"}, 2}, {"l", {}, 3}}, "FILE");
  EXPECT_THAT(switches[2].parents, ElementsAre(0, 1));
  EXPECT_EQ(separate_trees(switches), "");
}

TEST(SwitchTree, SaysWhichGroupsHaveNoPath) {
  const auto switches =
      build_switch_tree({{"a", {"a1"}, 1}, {"b", {"b1"}, 2}, {"a1", {}, 3}, {"b1", {}, 4}}, "FILE");
  EXPECT_THAT(separate_trees(switches), HasSubstr("2 groups of switches"));
}

TEST(SwitchTree, RefusesWhatIsNoTree) {
  EXPECT_THAT(refusal({{"a", {"b"}, 1}, {"b", {"a"}, 2}}), HasSubstr("ring"));
  EXPECT_THAT(refusal({{"a", {"a"}, 5}}), HasSubstr("FILE:5:"));
  EXPECT_THAT(refusal({{"a", {}, 1}, {"a", {}, 2}}), HasSubstr("listed twice"));
  EXPECT_THAT(refusal({{"a", {"ghost"}, 1}}), HasSubstr("ghost"));
  EXPECT_THAT(refusal({{"a", {"b", "b"}, 1}, {"b", {}, 2}}), HasSubstr("one child twice"));
}

}  // namespace
}  // namespace transload
