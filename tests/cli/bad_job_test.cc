// Jobs that cannot be right: each is refused with file, line and field, or tensor and rank, before
// anything is printed or written.
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

// One edit of a good job and what the message must say.
struct BadJob {
  std::string name;
  std::string from;  // text of the good job; empty: append
  std::string to;
  std::vector<std::string> words;  // besides the file
};

class BadJobs : public CliTest, public ::testing::WithParamInterface<BadJob> {
 protected:
  void refuse(const std::string& good) {
    const BadJob& bad = GetParam();
    std::string text = good;
    if (bad.from.empty()) {
      text += bad.to;
    } else {
      ASSERT_NE(text.find(bad.from), std::string::npos);
      text.replace(text.find(bad.from), bad.from.size(), bad.to);
    }
    const std::string job = write("job.yaml", text);
    std::vector<std::string> words = bad.words;
    words.push_back(job);
    expect_refused({"plan", job, "-o", path("out.plan")}, words);
    EXPECT_FALSE(std::filesystem::exists(path("out.plan")));
    expect_refused({"run", job, "--json"}, words);
  }
};

class BadTensorJobs : public BadJobs {};
TEST_P(BadTensorJobs, AreRefused) { refuse(kEightByEight); }

const std::string kSource = "{mesh: {x: 2}, placements: [S(0)], ranks: 0-1}";
const std::string kDestination = "{mesh: {y: 4}, placements: [S(1)], ranks: 2-5}";

INSTANTIATE_TEST_SUITE_P(
    Cli, BadTensorJobs,
    ::testing::Values(
        BadJob{"UnknownKey", "", "stratgy: p2p\n", {":11:", "stratgy", "did you mean strategy?"}},
        BadJob{"UnknownTensorKey", "dtype: fp32", "dtyp: fp32", {":6:", "tensors[0]", "dtype"}},
        BadJob{"UnknownSideKey", "ranks: 0-1", "rank: 0-1", {":9:", "tensors[0].source"}},
        BadJob{"UnknownNodeKey", "nic: 50GB/s", "nics: 50GB/s", {":3:", "topology.nodes[0]"}},
        BadJob{"NoName", "name: w\n    shape", "shape", {":6:", "tensors[0]", "name", "missing"}},
        BadJob{"NoTopology", "topology:", "topolgy:", {"topology", "missing"}},
        BadJob{"NoTensors", "tensors:", "tensor:", {"expected `tensors`", "`model`"}},
        BadJob{"BothForms", "", "model: deepseek-v3\n", {"expected either"}},
        BadJob{"EmptyTensors",
               kEightByEight.substr(kEightByEight.find("tensors:")),
               "tensors: []\n",
               {":5:", "tensors", "at least one"}},
        BadJob{"ShapeOfWrongType", "[8, 8]", "eight", {":7:", "tensors[0].shape", "a list"}},
        BadJob{"ExtentOfWrongType", "[8, 8]", "[8, x]", {":7:", "shape[1]", "whole number"}},
        BadJob{"NegativeExtent", "[8, 8]", "[8, -8]", {":7:", "shape[1]"}},
        BadJob{"HugeShape", "[8, 8]", "[4000000000, 4000000000]", {":7:", "shape"}},
        BadJob{"BadDtype", "fp32", "fp33", {":8:", "tensors[0].dtype", "fp33"}},
        BadJob{"MeshDoesNotFitRanks", "{x: 2}", "{x: 3}", {":9:", "source.ranks", "3"}},
        BadJob{"MeshSizeZero", "{x: 2}", "{x: 0}", {":9:", "source.mesh.x"}},
        BadJob{"MeshOverflows",
               "{x: 2}",
               "{x: 1048576, y: 1048576, z: 1048576, u: 1048576}",
               {":9:", "source.ranks"}},
        BadJob{"RankOutOfRange", "2-5", "2-6", {":10:", "destination.ranks", "6", "5"}},
        BadJob{"RankTwice", "ranks: 0-1", "ranks: [0, 0]", {":9:", "source.ranks", "twice"}},
        BadJob{"RankRangeBackwards", "0-1", "1-0", {":9:", "source.ranks", "1-0"}},
        BadJob{"BadPlacement", "S(0)", "Q(0)", {":9:", "placements[0]", "Q(0)"}},
        BadJob{"PlacementBeyondShape", "S(0)", "S(2)", {":9:", "placements[0]", "2 dimensions"}},
        BadJob{"TooFewPlacements", "[S(0)]", "[]", {":9:", "source.placements"}},
        BadJob{"BadSplit", "ranks: 0-1}", "ranks: 0-1, split: chunks}", {":9:", "split", "chunk"}},
        BadJob{"OverlappingBoxes",
               kSource,
               "{boxes: {0: [[[0, 4], [0, 8]], [[3, 8], [0, 8]]]}}",
               {"tensor w", "rank 0", "twice"}},
        BadJob{"BoxOutside", kSource, "{boxes: {0: [[0, 9], [0, 8]]}}", {":9:", "boxes.0"}},
        BadJob{"BoxBackwards", kSource, "{boxes: {0: [[4, 2], [0, 8]]}}", {":9:", "boxes.0"}},
        BadJob{"BoxOfWrongDimensions", kSource, "{boxes: {0: [[0, 8]]}}", {":9:", "boxes.0"}},
        BadJob{"BoxOfUnknownRank", kSource, "{boxes: {9: [[0, 8], [0, 8]]}}", {":9:", "boxes"}},
        BadJob{"MissingShards",
               kSource,
               "{boxes: {0: [[0, 4], [0, 8]]}}",
               {"tensor w", "rank 2", "[4:8, 0:2]", "no source rank"}},
        BadJob{"MovesNothing", "[8, 8]", "[0, 8]", {"moves nothing"}},
        BadJob{"TensorTwice",
               "",
               "  - {name: w, shape: [1], dtype: fp32, source: {mesh: {x: 1}, placements: [R], "
               "ranks: 0}, destination: {mesh: {x: 1}, placements: [R], ranks: 2}}\n",
               {":11:", "tensors[1].name", "another tensor"}},
        BadJob{"RateWithoutTime", "nic: 50GB/s", "nic: 50GB", {":3:", "nodes[0].nic", "50GB"}},
        BadJob{"RateZero", "nic: 50GB/s", "nic: 0", {":3:", "nodes[0].nic"}},
        BadJob{"NoGpus", "gpus: 2", "gpus: 0", {":3:", "nodes[0].gpus"}},
        BadJob{"UnknownStrategy", "", "strategy: p2q\n", {":11:", "strategy", "p2p"}},
        BadJob{"UnknownSetting", "", "strategy: {p2p: {mode: 1}}\n", {":11:", "strategy.p2p.mode"}},
        BadJob{"UnknownOption", "", "options: {chunk: 1}\n", {":11:", "options.chunk"}},
        BadJob{"WindowZero", "", "options: {window: 0}\n", {":11:", "options.window"}},
        BadJob{"BadDiscipline",
               "",
               "options: {discipline: window}\n",
               {":11:", "options.discipline", "did you mean windows?"}},
        BadJob{"BadChunk", "", "options: {chunk_bytes: 1 lot}\n", {":11:", "options.chunk_bytes"}},
        BadJob{"StagingTooSmall",
               "",
               "options: {staging_bytes: 1B}\n",
               {"options.staging_bytes", "rank 0", "needs at least"}},
        BadJob{"SyntaxError", "[8, 8]", "[8, 8", {"not valid YAML"}},
        BadJob{"Tab", "    shape", "\tshape", {":7:", "not valid YAML"}},
        BadJob{"DuplicateKey", "", "tensors: []\n", {":11:", "tensors", "twice"}},
        BadJob{"SecondDocument", "", "---\na: 1\n", {"second document"}},
        BadJob{"UndefinedAlias", "[8, 8]", "*shape", {":7:", "not valid YAML"}}),
    [](const auto& param) { return param.param.name; });

const std::string kModelJob =
    "model: qwen3-30b-a3b\n"                  // 1
    "topology: {name: dgx-h100, nodes: 2}\n"  // 2
    "source:\n"                               // 3
    "  engine: megatron\n"                    // 4
    "  gpus: 8\n"                             // 5
    "  parallel: {tp: 2, pp: 2, ep: 4}\n"     // 6
    "destination:\n"                          // 7
    "  engine: vllm\n"                        // 8
    "  gpus: 8\n"                             // 9
    "  parallel: {tp: 4}\n";                  // 10

class BadModelJobs : public BadJobs {};
TEST_P(BadModelJobs, AreRefused) { refuse(kModelJob); }

INSTANTIATE_TEST_SUITE_P(
    Cli, BadModelJobs,
    ::testing::Values(
        BadJob{"UnknownModel", "qwen3-30b-a3b", "qwen3-30b", {":1:", "model", "qwen3-30b-a3b?"}},
        BadJob{"NoModelFile", "qwen3-30b-a3b", "./none.yaml", {":1:", "model", "none.yaml"}},
        BadJob{"UnknownTopology", "dgx-h100", "dgx-h10", {":2:", "topology.name", "dgx-h100?"}},
        BadJob{"UnknownParameter", "nodes: 2", "nodes: 2, rail: 3", {":2:", "topology.rail"}},
        BadJob{"NoNodes", ", nodes: 2", "", {":2:", "topology", "nodes"}},
        BadJob{"TooManyGpus", "gpus: 8", "gpus: 17", {":5:", "source.gpus", "17"}},
        BadJob{"NodesTaken", "gpus: 8", "gpus: 16", {":9:", "destination.gpus"}},
        BadJob{"NodeOutOfRange", "gpus: 8", "gpus: 8\n  nodes: 2", {":6:", "source.nodes"}},
        BadJob{"UnknownEngine", "megatron", "megatrom", {":4:", "source.engine", "megatron"}},
        BadJob{"UnknownAxis", "ep: 4", "xp: 4", {":6:", "source.parallel.xp"}},
        BadJob{"AxisZero", "tp: 2", "tp: 0", {":6:", "source.parallel.tp"}},
        BadJob{"MeshDoesNotFitGpus", "tp: 2, pp: 2", "tp: 3, pp: 2", {":4:", "source"}},
        BadJob{"TpDoesNotDivide", "{tp: 4}", "{tp: 3}", {":8:", "destination"}},
        BadJob{"LayersDoNotDivide",
               "{tp: 2, pp: 2, ep: 4}",
               "{tp: 1, pp: 5, ep: 1}",
               {":4:", "source", "48 layers", "pp_layout"}},
        BadJob{"LayoutDoesNotSumUp",
               "ep: 4}",
               "ep: 4}\n  pp_layout: [24, 23]",
               {":7:", "source.pp_layout", "47", "48"}},
        BadJob{"LayoutOfWrongLength",
               "ep: 4}",
               "ep: 4}\n  pp_layout: [48]",
               {":7:", "source.pp_layout", "2 entries"}},
        BadJob{"Conversion", "{tp: 4}", "{tp: 4}\n  dtype: nvfp4", {":11:", "destination.dtype"}},
        BadJob{"NoDestination", "destination:", "destinations:", {"destination", "missing"}},
        BadJob{"NoPools",
               kModelJob.substr(kModelJob.find("destination:")),
               "destination: []\n",
               {":7:", "destination", "at least one"}}),
    [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace transload::testing
