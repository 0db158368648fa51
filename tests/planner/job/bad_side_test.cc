// Sides of tensor jobs that cannot be right. Every message names line and field of the file, or
// tensor, side and rank where only the layout can tell. (tests/cli/bad_job_test.cc: exit code 2 and
// nothing written.)
#include "tests/planner/job/bad_side.h"

namespace transload::testing {
namespace {

class BadSources : public ::testing::TestWithParam<BadSide> {};
TEST_P(BadSources, AreRefused) {
  expect_words(message_of(with(kSource, GetParam().side)), GetParam().words);
}

TEST(BadSide, TheJobThatTheseEditsSpoilIsGood) { EXPECT_EQ(message_of(kTensor), "accepted"); }

INSTANTIATE_TEST_SUITE_P(
    Mesh, BadSources,
    ::testing::Values(
        BadSide{"SideOfWrongType", "[1, 2]", {kAt + ": expected a map, found a list"}},
        BadSide{
            "MeshOfWrongType", "{mesh: 4, ranks: 0-3, placements: [R]}", {kAt + ".mesh", "map"}},
        BadSide{"MeshEmpty", "{mesh: {}, ranks: 0-3, placements: []}", {kAt + ".mesh", "one axis"}},
        BadSide{"NoRanks", "{mesh: {x: 4}, placements: [R]}", {kAt, "ranks is missing"}},
        BadSide{"PlacementsOfWrongType",
                "{mesh: {x: 4}, ranks: 0-3, placements: R}",
                {kAt + ".placements", "a list"}},
        BadSide{"OrderOfWrongType", kMesh + ", order: x}", {kAt + ".order", "a list"}},
        BadSide{"OrderOfUnknownAxis",
                kMesh + ", order: [z]}",
                {kAt + ".order[0]", "expected one of x, y, found z"}},
        BadSide{"OrderNamesAnAxisTwice",
                kMesh + ", order: [y, y]}",
                {kAt + ".order[1]", "axis y stands twice"}},
        BadSide{"OrderOfNumbers", kMesh + ", order: [1, 0]}", {kAt + ".order[0]", "found 1"}},
        BadSide{"OrderWithoutMesh",
                "{boxes: {0: [[0, 8], [0, 6]]}, order: [x]}",
                {kAt + ".order", "unknown key"}},
        BadSide{"MeshBesideBoxes",
                "{boxes: {0: [[0, 8], [0, 6]]}, mesh: {x: 1}}",
                {kAt + ".mesh", "boxes"}},
        BadSide{"ExpertsBesideBoxes",
                "{boxes: {0: [[0, 8], [0, 6]]}, experts: {0: [1]}}",
                {kAt + ".experts", "boxes"}},
        BadSide{"UnknownKey",
                kMesh + ", paded: 8}",
                {kAt + ".paded", "unknown key (did you mean padded?)"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Split, BadSources,
    ::testing::Values(
        BadSide{"SplitUnknown", kMesh + ", split: even}", {kAt + ".split", "chunk, balanced"}},
        BadSide{"SplitOfWrongType", kMesh + ", split: [chunk]}", {kAt + ".split", "text"}},
        BadSide{"SplitOfUnknownDimension",
                kMesh + ", split: {2: balanced}}",
                {kAt + ".split.2", "expected a dimension from 0 to 1, found 2"}},
        BadSide{"SplitOfNoDimension",
                kMesh + ", split: {rows: balanced}}",
                {kAt + ".split.rows", "expected a dimension from 0 to 1, found rows"}},
        BadSide{"SplitRuleUnknown", kMesh + ", split: {0: floor}}", {kAt + ".split.0", "floor"}},
        BadSide{"SizesOfWrongType", kMesh + ", sizes: [4, 4]}", {kAt + ".sizes", "a map"}},
        BadSide{"SizesNegative", kMesh + ", sizes: {0: [9, -1]}}", {kAt + ".sizes.0[1]", "-1"}},
        BadSide{"SizesOfUnknownDimension",
                kMesh + ", sizes: {3: [4, 4]}}",
                {kAt + ".sizes.3", "dimension from 0 to 1"}},
        BadSide{"SizesTooLong",
                kMesh + ", sizes: {0: [5, 4]}}",
                {kTensorSource, "sizes of dimension 0 do not make up its length 8"}},
        BadSide{"SizesTooShort",
                kMesh + ", sizes: {0: [3, 4]}}",
                {kTensorSource, "sizes of dimension 0 sum to 7, its length is 8"}},
        BadSide{"SizesTooFew",
                kMesh + ", sizes: {0: [8]}}",
                {kTensorSource, "1 parts for axis x of 2"}},
        BadSide{"SizesOfAWholeDimension",
                kMesh + ", sizes: {1: [6]}}",
                {kTensorSource, "expected exactly one plain S(1)", "found 0"}},
        BadSide{"SizesOfTwoAxes",
                "{mesh: {x: 2, y: 2}, ranks: 0-3, placements: [S(0), S(0)], sizes: {0: [4, 4]}}",
                {kTensorSource, "expected exactly one plain S(0)", "found 2"}},
        BadSide{
            "SizesOfAStridedShard",
            "{mesh: {x: 2}, ranks: 0-1, placements: [S(0, split_factor=2)], sizes: {0: [4, 4]}}",
            {kTensorSource, "expected exactly one plain S(0)"}}),
    name_of);

BadSide placement(const std::string& name, const std::string& word,
                  const std::vector<std::string>& words) {
  return {name, "{mesh: {x: 3}, ranks: 0-2, placements: [" + word + "]}", words};
}

INSTANTIATE_TEST_SUITE_P(
    Placement, BadSources,
    ::testing::Values(
        placement("StridedWithoutReading", "S(0, split_factor=2)",
                  {kTensorSource, "over axis x of 3 does not divide 8 evenly",
                   "reading=factor-first", "reading=unflatten"}),
        placement("UnknownReading", "S(0, split_factor=2, reading=torch)",
                  {kAt + ".placements[0]", "reading is factor-first or unflatten, found torch"}),
        placement("ReadingWithoutFactor", "S(0, reading=unflatten)",
                  {kAt + ".placements[0]", "a reading belongs to a split_factor above 1"}),
        placement("FactorZero", "S(0, split_factor=0)",
                  {kAt + ".placements[0]", "at least 1", "found 0"}),
        placement("FactorOfWrongType", "S(0, split_factor=two)", {kAt + ".placements[0]", "two"}),
        placement("FactorBeyondAllPieces", "S(0, split_factor=4294967296)",
                  {kAt + ".placements[0]", "4294967296"}),
        placement("UnknownParameter", "S(0, factor=2)", {kAt + ".placements[0]", "factor=2"}),
        placement("Partial", "P(sum)", {kAt + ".placements[0]", "P(sum) is a partial value"}),
        placement("NoDimension", "S()", {kAt + ".placements[0]", "S()"}),
        placement("NegativeDimension", "S(-1)", {kAt + ".placements[0]", "-1"}),
        placement("OpenBracket", "S(0", {kAt + ".placements[0]", "S(0"})),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Padding, BadSources,
    ::testing::Values(
        BadSide{"PaddedLessThanTheLength",
                kMesh + ", padded: {0: 7}}",
                {kTensorSource, "dimension 0 is padded to 7, less than its length 8"}},
        BadSide{"PaddedOfUnknownDimension",
                kMesh + ", padded: {2: 8}}",
                {kAt + ".padded.2", "dimension from 0 to 1"}},
        BadSide{"PaddedOfWrongType", kMesh + ", padded: much}", {kAt + ".padded", "much"}},
        BadSide{"PaddedFillUnknown",
                kMesh + ", padded: {0: 8, fill: ones}}",
                {kAt + ".padded.fill", "zero, keep"}},
        BadSide{"PaddedFillAlone",
                kMesh + ", padded: {fill: zero}}",
                {kAt + ".padded", "{dimension: extent, fill: zero|keep}"}},
        BadSide{"BarePaddedWithoutAShardedDimension",
                "{mesh: {x: 1}, ranks: 0, placements: [R], padded: 16}",
                {kAt + ".padded", "no dimension is sharded"}},
        BadSide{"BarePaddedWithTwoShardedDimensions",
                "{mesh: {x: 2, y: 2}, ranks: 0-3, placements: [S(0), S(1)], padded: 16}",
                {kAt + ".padded", "several dimensions are sharded"}},
        BadSide{"PaddedNegative", kMesh + ", padded: -8}", {kAt + ".padded", "-8"}},
        BadSide{
            "PaddedExperts",
            "{mesh: {x: 2}, ranks: 0-1, placements: [S(0)], padded: {0: 16}, experts: [0, 1, 2, "
            "3, 4, 5, 6, 7]}",
            {kTensorSource, "dimension 0 is one of slots", "cannot be padded"}},
        BadSide{"PaddedBoxes",
                "{boxes: {0: [[0, 8], [0, 6]]}, padded: 16}",
                {kAt + ".padded", "unknown key"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Boxes, BadSources,
    ::testing::Values(
        BadSide{"BoxesOfNoRank", "{boxes: {}}", {kAt + ".boxes", "at least one rank"}},
        BadSide{"BoxesOfWrongType", "{boxes: [[0, 8], [0, 6]]}", {kAt + ".boxes", "a map"}},
        BadSide{"BoxOfWrongType", "{boxes: {0: all}}", {kAt + ".boxes.0", "a list"}},
        BadSide{
            "BoxOfOneBound", "{boxes: {0: [[0], [0, 6]]}}", {kAt + ".boxes.0[0]", "[low, high]"}},
        BadSide{"BoxPastTheEnd",
                "{boxes: {0: [[0, 8], [0, 7]]}}",
                {kAt + ".boxes.0[1][1]", "from 0 to 6, found 7"}},
        BadSide{"BoxBackwards",
                "{boxes: {0: [[5, 4], [0, 6]]}}",
                {kAt + ".boxes.0[0][1]", "from 5 to 8, found 4"}},
        BadSide{"BoxOfUnknownRank",
                "{boxes: {8: [[0, 8], [0, 6]]}}",
                {kAt + ".boxes.8", "rank from 0 to 7"}},
        BadSide{"BoxesOverlap",
                "{boxes: {2: [[[0, 5], [0, 6]], [[4, 8], [0, 6]]]}}",
                {kTensorSource, "rank 2 holds elements of box [4:8, 0:6] twice"}}),
    name_of);

// The destination is read by the same rules: one of each kind of message.
TEST(BadSide, ADestinationIsNamedAsSuch) {
  expect_words(message_of(with(kDestination, "{mesh: {x: 2}, ranks: 4-5, placements: [S(2)]}")),
               {"job.yaml:8: tensors[0].destination.placements[0]", "2 dimensions"});
  expect_words(
      message_of(
          with(kDestination, "{mesh: {x: 2}, ranks: 4-5, placements: [S(0)], sizes: {0: [4, 5]}}")),
      {"tensor w, destination: sizes of dimension 0"});
}

TEST(BadSide, DimsOfTheTensor) {
  expect_words(message_of(with("dims: [row, column]", "dims: [row]")),
               {"job.yaml:6: tensors[0].dims", "the names of 2 dimensions, found 1"});
  expect_words(message_of(with("dims: [row, column]", "dims: [row, row]")),
               {"job.yaml:6: tensors[0].dims[1]", "row stands twice"});
  std::string text = with("    dims: [row, column]\n", "");
  text.replace(text.find("[S(0), R]"), 9, "[S(0), R], dims: [column, row]");
  expect_words(message_of(text),
               {"job.yaml:6: tensors[0].source.dims", "the tensor has no `dims`"});
}

TEST(BadSide, OtherNamesOfATensor) {
  const std::string good = std::string(kTensor) + "    also:\n";
  const std::string side = "destination: " + std::string(kDestination);
  EXPECT_EQ(message_of(good + "      - {name: v, " + side + "}\n"), "accepted");
  expect_words(message_of(good + "      - {name: w, " + side + "}\n"),
               {"job.yaml:10: tensors[0].also[0].name", "another tensor has this name"});
  expect_words(
      message_of(good + "      - {name: v, " + side + "}\n      - {name: v, " + side + "}\n"),
      {"job.yaml:11: tensors[0].also[1].name", "another tensor has this name"});
  expect_words(message_of(good + "      - {name: v}\n"),
               {"job.yaml:10: tensors[0].also[0]", "destination is missing"});
  expect_words(message_of(good + "      - {name: v, " + side + ", source: " + kSource + "}\n"),
               {"job.yaml:10: tensors[0].also[0].source", "unknown key"});
  expect_words(message_of(std::string(kTensor) + "    also: v\n"),
               {"job.yaml:9: tensors[0].also", "a list"});
}

// ---- sizes that would fill memory or take for ever ----

TEST(BadSide, HugeNumbersAreRefusedAtOnce) {
  const auto job = [](const std::string& shape, const std::string& source) {
    return "topology: {nodes: [{gpus: 8, nic: 50GB/s, nvlink: 450GB/s}]}\ntensors:\n  - {name: w, "
           "shape: " +
           shape + ", dtype: uint8, source: {" + source +
           "}, destination: {mesh: {x: 1}, ranks: 7, placements: [R]}}\n";
  };
  expect_words(message_of(job("[1125899906842624]", "experts: {0: [0]}")),
               {"job.yaml:3: tensors[0].source.experts", "no slot holds expert 1 of"});
  expect_words(message_of(job("[4294967296]",
                              "mesh: {x: 2}, ranks: 0-1, placements: [S(0, "
                              "split_factor=2147483648)]")),
               {"tensor w, source", "split_factor 2147483648", "a million pieces"});
  expect_words(message_of(job("[8000, 8000]",
                              "mesh: {x: 2, y: 2}, ranks: 0-3, placements: [S(0, "
                              "split_factor=2000), S(1, split_factor=2000)]")),
               {"tensor w, source", "rank 0 holds more than a million boxes"});
  // (2^20) steps of 2^44 elements: the product is 2^64, nothing in 64 bits.
  expect_words(message_of(job("[1048577]",
                              "mesh: {x: 1}, ranks: 0, placements: [R], memory: {strides: "
                              "[17592186044416]}")),
               {"tensor w, source", "rank 0", "the strides span"});
  expect_words(message_of(job("[4096, 4096]",
                              "mesh: {x: 1}, ranks: 0, placements: [R], memory: {strides: [8192, "
                              "2]}")),
               {"tensor w, source, rank 0", "contiguous runs"});
}

}  // namespace
}  // namespace transload::testing
