#include "planner/schedule/show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/planner/schedule/sample_plans.h"

namespace transload {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ShowPlan, HasTheKeysOfTheContract) {
  const json shown = show_plan(testing::two_domains(), {});
  EXPECT_EQ(shown["count"], 8);
  EXPECT_EQ(shown["truncated"], false);
  const json expected = {{"id", 1},
                         {"kind", "transfer"},
                         {"source_rank", 0},
                         {"destination_rank", 2},
                         {"bytes", 1024},
                         {"link", "network"},
                         {"role", "inject"},
                         {"step", "inject"},
                         {"ports", {"rank0.nic.out", "rank2.nic.in"}},
                         {"hop", 1},
                         {"key", 10},
                         {"group", nullptr},
                         {"bundle", 0},
                         {"chunk", 0},
                         {"tensors", {"w"}},
                         {"after", {0}},
                         {"stream", json::array()}};
  EXPECT_EQ(shown["operations"][1], expected);
}

TEST(ShowPlan, SaysCopyHostAndFenceWhereTheRoleIsFiner) {
  const json ops = show_plan(testing::two_domains(), {})["operations"];
  std::vector<std::string> roles, steps, links;
  for (const json& op : ops) {
    roles.push_back(op["role"]);
    steps.push_back(op["step"]);
    links.push_back(op["link"]);
  }
  EXPECT_THAT(roles, ::testing::ElementsAre("copy", "inject", "copy", "fan-out", "copy", "copy",
                                            "host", "fence"));
  EXPECT_THAT(steps, ::testing::ElementsAre("pack", "inject", "unpack", "fan-out", "unpack", "copy",
                                            "load", "fence"));
  EXPECT_THAT(links, ::testing::ElementsAre("local", "network", "local", "nvlink", "local", "local",
                                            "local", "local"));
  EXPECT_EQ(ops[3]["stream"], json({1}));
  EXPECT_EQ(ops[7]["bundle"], nullptr);
  EXPECT_EQ(ops[7]["ports"], json::array());
}

TEST(ShowPlan, FiltersAndCuts) {
  ShowFilter filter;
  filter.rank = 2;
  filter.limit = 3;
  const json shown = show_plan(testing::two_domains(), filter);
  EXPECT_EQ(shown["count"], 4);  // operations 1, 2, 3, 6
  EXPECT_EQ(shown["truncated"], true);
  ASSERT_EQ(shown["operations"].size(), 3u);
  EXPECT_EQ(shown["operations"][2]["id"], 3);
}

TEST(ShowPlan, NamesEightTensorsAndCountsTheRest) {
  testing::Cluster c(2, 1);
  std::vector<SliceSpec> slices;
  for (std::uint32_t t = 0; t < 11; ++t) {
    const std::int64_t shape[] = {1};
    c.builder.add_tensor("t" + std::to_string(t), shape, DType::kF32);
    const std::int64_t box[] = {0, 1};
    slices.push_back({t, 1, 1, c.builder.add_box(box)});
  }
  c.transfer(0, OpRole::kInject, 0, 1, c.builder.add_bundle(slices), 44, true);
  const json tensors = show_plan(c.seal(), {})["operations"][0]["tensors"];
  ASSERT_EQ(tensors.size(), 9u);
  EXPECT_EQ(tensors[7], "t7");
  EXPECT_EQ(tensors[8], "... 3 more");
}

TEST(ShowPlan, PrintsNamesThatAreNotUtf8) {
  const json shown = show_plan(testing::two_domains("bad\xFF\"name"), {});
  EXPECT_NO_THROW(shown.dump());
}

TEST(ShowText, IsOneAlignedLinePerOperation) {
  ShowFilter filter;
  filter.limit = 5;
  const std::string text = show_text(testing::two_domains("w\n2"), filter);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);  // heading, 5 operations, what was cut
  EXPECT_THAT(text, HasSubstr("5 of 8 operations"));
  EXPECT_THAT(text, HasSubstr("0 -> 2"));
  EXPECT_THAT(text, HasSubstr("~1"));
  EXPECT_THAT(text, HasSubstr("w 2"));
  EXPECT_THAT(show_text(testing::two_domains(), {}), Not(HasSubstr("--limit")));
  // Columns stand under each other: "link" and the links start at the same place.
  const std::size_t heading = text.find("link");
  const std::size_t line = text.find('\n') + 1;
  EXPECT_EQ(text.substr(line + heading, 5), "local");
}

}  // namespace
}  // namespace transload
