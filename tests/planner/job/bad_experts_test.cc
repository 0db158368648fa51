// Expert tables that cannot be right.
#include "tests/planner/job/bad_side.h"

namespace transload::testing {
namespace {

class BadTables : public ::testing::TestWithParam<BadSide> {};
TEST_P(BadTables, AreRefused) {
  expect_words(message_of(with(kSource, GetParam().side)), GetParam().words);
}

BadSide experts(const std::string& name, const std::string& table,
                const std::vector<std::string>& words) {
  return {name, "{mesh: {x: 2}, ranks: 0-1, placements: [S(0)], experts: " + table + "}", words};
}

INSTANTIATE_TEST_SUITE_P(
    Experts, BadTables,
    ::testing::Values(
        experts("Missing", "[0, 1, 2, 3, 4, 5, 7, 0]", {kAt + ".experts", "holds expert 6 of 8"}),
        experts("Outside", "[0, 1, 2, 3, 4, 5, 6, 8]",
                {kAt + ".experts",
                 "physical slot 7 (rank 1, its slot 3) holds expert 8; the tensor has experts 0 to "
                 "7"}),
        experts("TwiceOnARank", "[0, 1, 2, 3, 3, 4, 5, 6, 7, 0]",
                {kAt + ".experts", "rank 0 holds expert 3 in two slots"}),
        experts("UnevenSlots", "[0, 1, 2, 3, 4, 5, 6, 7, 0]",
                {kAt + ".experts", "9 slots (8 experts and 1 redundant ones) do not divide over 2",
                 "10"}),
        experts("NoSlots", "[]", {kAt + ".experts", "at least one slot"}),
        experts("OfWrongType", "all", {kAt + ".experts", "a list of expert ids"}),
        experts("NegativeId", "[0, -1]", {kAt + ".experts[1]", "-1"}),
        BadSide{"OfTheSecondAxis",
                "{mesh: {tp: 2, ep: 2}, ranks: [4, 5, 6, 7], placements: [S(1), S(0)], experts: "
                "[0, 1, 2, 3, 4, 5, 6, 9]}",
                {kAt + ".experts", "physical slot 7 (rank 5, its slot 3) holds expert 9"}},
        BadSide{"OfRanksMissing",
                "{experts: {0: [0, 1, 2, 3], 1: [4, 5, 6]}}",
                {kAt + ".experts", "no slot holds expert 7 of 8"}},
        BadSide{"OfRanksOutside",
                "{experts: {0: [0, 1, 2, 3], 1: [4, 5, 6, 7, 8]}}",
                {kAt + ".experts", "rank 1, its slot 4", "holds expert 8"}},
        BadSide{"OfRanksTwice",
                "{experts: {0: [0, 1, 2, 3, 0], 1: [4, 5, 6, 7]}}",
                {kAt + ".experts", "rank 0 holds expert 0 in two slots"}},
        BadSide{"OfUnknownRank",
                "{experts: {9: [0, 1, 2, 3, 4, 5, 6, 7]}}",
                {kAt + ".experts.9", "rank from 0 to 7"}},
        BadSide{"OfNoRank", "{experts: {}}", {kAt + ".experts", "expert 0 of 8"}},
        BadSide{"MapBesideAMesh",
                "{mesh: {x: 2}, ranks: 0-1, placements: [S(0)], experts: {0: [0, 1, 2, 3, 4, 5, 6, "
                "7]}}",
                {kAt + ".mesh", "experts"}},
        BadSide{"ExpertToRankTooShort",
                "{expert_to_rank: [0, 0, 1]}",
                {kAt + ".expert_to_rank", "the rank of each of 8 experts, found 3"}},
        BadSide{"ExpertToRankOfUnknownRank",
                "{expert_to_rank: [0, 0, 0, 0, 1, 1, 1, 8]}",
                {kAt + ".expert_to_rank[7]", "from 0 to 7, found 8"}},
        BadSide{
            "ExpertToRankOfWrongType", "{expert_to_rank: 0}", {kAt + ".expert_to_rank", "a list"}},
        BadSide{"ExpertToRankFileMissing",
                "{expert_to_rank: {file: no/such/table.json}}",
                {"no/such/table.json", "cannot open the file"}},
        BadSide{"ExpertToRankWithoutFile",
                "{expert_to_rank: {path: x}}",
                {kAt + ".expert_to_rank", "file is missing"}},
        BadSide{"BothTables",
                "{expert_to_rank: [0, 0, 0, 0, 1, 1, 1, 1], experts: {0: [0]}}",
                {kAt + ".experts", "expert_to_rank"}}),
    name_of);

// Which rank has a slot follows the placements, not the order of the list.
TEST(BadTable, AStridedTableIsJudgedByTheRanksThatItGives) {
  const auto side = [](const char* experts) {
    return std::string("{mesh: {x: 2}, ranks: 0-1, placements: [S(0, split_factor=2)], experts: ") +
           experts + "}";
  };
  const auto message = [&](const char* experts) {
    std::string text = with(kSource, side(experts));
    return message_of(text.replace(text.find("[8, 6]"), 6, "[2, 6]"));
  };
  // Slots 0 and 2 are rank 0's, 1 and 3 rank 1's.
  EXPECT_EQ(message("[0, 0, 1, 1]"), "accepted");
  expect_words(message("[0, 1, 0, 1]"),
               {"tensor w, source", "rank 0 holds elements of box [0:1, 0:6] twice"});
  expect_words(message("[0, 0, 1, 2]"), {"tensor w, source", "rank 1", "slot 3", "index 2"});
  expect_words(message("[0, 0, 0, 0]"), {kAt + ".experts", "no slot holds expert 1 of 2"});
}

}  // namespace
}  // namespace transload::testing
