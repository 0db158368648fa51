// Dumps of DTensor layouts, each rank's shard held against the placements.
#include "models/importers/torch_placement.h"
#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

// A [10, 4] over fsdp 2 x tp 2, tp first: rows 0-4 to tp 0 and 5-9 to tp 1, each cut 3 + 2 over
// fsdp; and a replicated vector.
const std::string kDump = R"J({
  "mesh": {"shape": [2, 2], "dim_names": ["fsdp", "tp"], "ranks": [0, 1, 2, 3]},
  "dtype": "torch.bfloat16",
  "parameters": {
    "w": {
      "global_shape": [10, 4],
      "placements": ["_StridedShard(dim=0, split_factor=2)", "Shard(dim=0)"],
      "shards": {
        "0": {"local_shape": [3, 4], "global_offset": [0, 0]},
        "1": {"local_shape": [3, 4], "global_offset": [5, 0]},
        "2": {"local_shape": [2, 4], "global_offset": [3, 0]},
        "3": {"local_shape": [2, 4], "global_offset": [8, 0]}
      }
    },
    "b": {
      "global_shape": [4],
      "placements": ["Replicate()", "R"],
      "dtype": "float32",
      "shards": {
        "0": {"local_shape": [4], "global_offset": [0]},
        "1": {"local_shape": [4], "global_offset": [0]},
        "2": {"local_shape": [4], "global_offset": [0]},
        "3": {"local_shape": [4], "global_offset": [0]}
      }
    }
  }
})J";

class ImportDump : public ImporterTest {};

TEST_F(ImportDump, OneSideOfATensorJob) {
  const Imported imported = import("d.json", kDump);
  EXPECT_EQ(imported.kind, ImportKind::kDtensorDump);
  ASSERT_EQ(imported.tensors.size(), 2u);
  const ImportedTensor& w = imported.tensors[0];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.dtype, DType::kBF16);
  EXPECT_EQ(imported.tensors[1].dtype, DType::kF32);
  ASSERT_TRUE(w.source);
  EXPECT_FALSE(w.destination);
  EXPECT_EQ(w.source->placements[0], (AxisPlacement{0, 2, StridedReading::kFactorFirst}));
  EXPECT_EQ(w.source->placements[1], (AxisPlacement{0, 1, StridedReading::kUnstated}));
  EXPECT_THAT(joined(imported.understood), HasSubstr("1 uneven strided"));
  EXPECT_THAT(import_text(imported),
              HasSubstr("source: {mesh: {fsdp: 2, tp: 2}, placements: [\"S(0, split_factor=2, "
                        "reading=factor-first)\", S(0)], ranks: [0-3]}"));
}

TEST_F(ImportDump, AsTheDestinationOfOtherRanks) {
  ImportOptions options;
  options.role = "destination";
  options.first_rank = 8;
  const Imported imported = import("d.json", kDump, options);
  EXPECT_FALSE(imported.tensors[0].source);
  EXPECT_EQ(imported.tensors[0].destination->ranks, (std::vector<Rank>{8, 9, 10, 11}));
  options.role = "sink";
  EXPECT_THAT(refusal("d.json", kDump, options), HasSubstr("expected source or destination"));
}

struct Bad {
  const char* from;
  const char* to;
  const char* message;
};

constexpr Bad kBad[] = {
    {"[2, 4], \"global_offset\": [3, 0]", "[2, 4], \"global_offset\": [5, 0]",
     "parameters.w.shards.2: dimension 0: the dump says 2 from 5"},
    {"\"0\": {\"local_shape\": [3, 4]", "\"0\": {\"local_shape\": [4, 4]", "say 3 from 0"},
    {"\"0\": {\"local_shape\": [3, 4]", "\"0\": {\"local_shape\": [3]", "numbers for 2 dimensions"},
    {"\"0\": {\"local_shape\": [3, 4]", "\"0\": {\"local_shape\": [-3, 4]", "found -3"},
    {"\"3\": {\"local_shape\": [2, 4]", "\"4\": {\"local_shape\": [2, 4]", "the key 3 is missing"},
    {"Shard(dim=0)\"]", "Shard(dim=2)\"]", "expected Replicate()"},
    {"Shard(dim=0)\"]", "Partial(sum)\"]", "not reduced yet"},
    {"\"Shard(dim=0)\"]", "\"Shard(dim=0)\", \"R\"]", "one placement per mesh axis (2), found 3"},
    {"split_factor=2", "split_factor=0", "expected Replicate()"},
    {"\"ranks\": [0, 1, 2, 3]", "\"ranks\": [0, 1, 2]", "a mesh of 4 places for 3 ranks"},
    {"\"ranks\": [0, 1, 2, 3]", "\"ranks\": [0, 1, 2, 2]", "this rank stands twice"},
    {"\"ranks\": [0, 1, 2, 3]", "\"ranks\": [0, 1, 2, -3]", "found -3"},
    {"[\"fsdp\", \"tp\"]", "[\"tp\", \"tp\"]", "two mesh axes have this name"},
    {"[\"fsdp\", \"tp\"]", "[\"tp\"]", "1 names for 2 mesh axes"},
    {"\"shape\": [2, 2]", "\"shape\": [2, 0]", "mesh.shape[1]"},
    {"\"shape\": [2, 2]", "\"shape\": [1048576, 1048576]", "more than"},
    {"\"global_shape\": [10, 4]", "\"global_shape\": \"10x4\"", "expected a list"},
    {"torch.bfloat16", "torch.bfloat61", "unknown dtype bfloat61"},
};

TEST_F(ImportDump, BadDumps) {
  for (const Bad& bad : kBad)
    EXPECT_THAT(refusal("d.json", changed(kDump, bad.from, bad.to)), HasSubstr(bad.message))
        << bad.to;
  EXPECT_THAT(refusal("d.json", kDump.substr(0, kDump.size() - 20)), HasSubstr("is the file cut?"));
  EXPECT_THAT(refusal("d.json", R"({"mesh": {"shape": [1]}, "parameters": {}})"),
              HasSubstr("at least one parameter"));
}

TEST(TorchPlacement, PrintedForms) {
  using importing::parse_torch_placement;
  EXPECT_EQ(parse_torch_placement("Replicate()", 2), AxisPlacement{});
  EXPECT_EQ(parse_torch_placement("Shard(dim=1)", 2), (AxisPlacement{1}));
  EXPECT_EQ(parse_torch_placement("S(-1)", 3), (AxisPlacement{2}));
  EXPECT_EQ(parse_torch_placement("_StridedShard(dim=0, sf=4)", 1), (AxisPlacement{0, 4}));
  for (const char* text : {"", "Shard", "Shard()", "Shard(dim=)", "Shard(0)x", "Partial()",
                           "Shard(dim=-3)", "_StridedShard(dim=0)", "Shard(dim=99999999999)"})
    EXPECT_EQ(parse_torch_placement(text, 2), std::nullopt) << text;
}

TEST(TorchPlacement, PiecesOfAStridedShard) {
  using importing::held_part;
  using importing::Intervals;
  // 7 in two pieces, 4 and 3; each over 3 ranks: {0 1}{2 3}{} and {4}{5}{6}.
  const std::vector<MeshAxis> mesh = {{"fsdp", 3}};
  const std::vector<AxisPlacement> placements = {{0, 2}};
  EXPECT_EQ(held_part(7, 0, placements, mesh, {0}), (Intervals{{0, 2}, {4, 5}}));
  EXPECT_EQ(held_part(7, 0, placements, mesh, {1}), (Intervals{{2, 4}, {5, 6}}));
  EXPECT_EQ(held_part(7, 0, placements, mesh, {2}), (Intervals{{6, 7}}));
  EXPECT_EQ(held_part(0, 0, placements, mesh, {0}), Intervals{});
  EXPECT_EQ(held_part(7, 1, placements, mesh, {0}), (Intervals{{0, 7}}));
  // More pieces than elements: one element each, the first rank takes all.
  EXPECT_EQ(held_part(3, 0, {{0, 5}}, mesh, {0}), (Intervals{{0, 3}}));
}

}  // namespace
}  // namespace transload
