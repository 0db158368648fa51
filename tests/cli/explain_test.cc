// `explain`: what it says of jobs whose bottleneck is known by hand, and what would help.
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using Json = nlohmann::json;

// One source, one destination, 1 GB over NICs of 1 GB/s, no latency: 1 s, by either NIC.
const std::string kOnePair = R"(
topology: {efficiency: 1, latency: 0, nodes: [{count: 2, gpus: 1, nic: 1GB/s}]}
options: {discipline: windows}
tensors:
  - name: w
    shape: [1000, 1000000]
    dtype: uint8
    source:      {mesh: {x: 1}, placements: [R], ranks: 0}
    destination: {mesh: {x: 1}, placements: [R], ranks: 1}
)";

const Json* find(const Json& list, const std::string& words) {
  for (const Json& entry : list)
    if (entry["change"].get<std::string>().find(words) != std::string::npos) return &entry;
  ADD_FAILURE() << "no what-if: " << words << " in " << list.dump();
  return nullptr;
}

std::string sentences(const Json& json) {
  std::string text;
  for (const Json& sentence : json["sentences"]) text += sentence.get<std::string>() + "\n";
  return text;
}

class Explain : public CliTest {};

TEST_F(Explain, NamesWhatBindsWithBytesAndRate) {
  const Json json = json_of({"explain", write("job.yaml", kOnePair)});
  EXPECT_NEAR(json["refit_s"], 1.0, 1e-3);
  EXPECT_EQ(json["predicted_by"], "estimate");
  EXPECT_EQ(json["binding"], "dst_gpu");
  const std::string text = sentences(json);
  for (const char* words : {"No schedule takes less than 1 s", "dst_gpu", "1 GB over the NIC",
                            "1 GB/s", "nothing is left to win"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  EXPECT_EQ(json["idle_nics"], Json::array());
  EXPECT_EQ(json["nics"], 2);
}

// Twice the rate, or two NICs: half the time. The edits that it prints make the job that it means.
TEST_F(Explain, WhatIfsArePlannedAndCanBeReproduced) {
  const Json json = json_of({"explain", write("job.yaml", kOnePair)});
  for (const char* words : {"twice the rate", "one more NIC"}) {
    const Json* what_if = find(json["what_if"], words);
    ASSERT_NE(what_if, nullptr);
    EXPECT_NEAR((*what_if)["refit_s"], 0.5, 1e-2) << words;
    EXPECT_NEAR((*what_if)["gain_s"], 0.5, 1e-2) << words;
    EXPECT_NEAR((*what_if)["gain_fraction"], 0.5, 1e-2) << words;
  }
  const Json& changes = (*find(json["what_if"], "twice the rate"))["changes"];
  EXPECT_EQ(changes.size(), 1u);
  const std::string nodes = changes["topology.nodes"];
  std::string text = kOnePair;
  const std::string before = "[{count: 2, gpus: 1, nic: 1GB/s}]";
  text.replace(text.find(before), before.size(), nodes);
  EXPECT_NEAR(json_of({"explain", write("twice.yaml", text), "--no-what-if"})["refit_s"],
              (*find(json["what_if"], "twice the rate"))["refit_s"], 1e-9);
  // One GPU in each node and no NVLink: nothing to pair.
  EXPECT_NE(find(json["not_possible"], "NVLink domains"), nullptr);
  double before_s = 0;
  for (const Json& entry : json["what_if"]) {
    EXPECT_GE(entry["refit_s"], before_s) << "the shortest comes first";
    before_s = entry["refit_s"];
  }
}

// Ranks 0 and 1 hold everything; rank 1's NIC is a hundred times as slow, so it must carry little:
// the idle one is named.
TEST_F(Explain, NamesIdleNics) {
  const Json json = json_of({"explain", write("job.yaml", R"(
topology: {efficiency: 1, latency: 0, nodes: [{gpus: 1, nic: 1GB/s}, {gpus: 1, nic: 10MB/s}, {gpus: 1, nic: 1GB/s}]}
options: {discipline: windows}
tensors:
  - name: w
    shape: [1000, 100000]
    dtype: uint8
    source:      {mesh: {dp: 2}, placements: [R], ranks: 0-1}
    destination: {mesh: {x: 1}, placements: [R], ranks: 2}
)"),
                             "--no-what-if"});
  EXPECT_EQ(json["idle_nics"], Json::array({"node1.nic0"}));
  EXPECT_NE(sentences(json).find("1 of 3 NICs are idle"), std::string::npos) << sentences(json);
  EXPECT_EQ(json["what_if"], Json::array());
}

TEST_F(Explain, APlanFileSaysTheSameAsItsJob) {
  const std::string file = plan_file();
  const Json of_plan = json_of({"explain", file});
  const Json of_job = json_of({"explain", job()});
  EXPECT_EQ(of_plan["sentences"], of_job["sentences"]);
  ASSERT_EQ(of_plan["what_if"].size(), of_job["what_if"].size());
  for (std::size_t i = 0; i < of_plan["what_if"].size(); ++i)
    EXPECT_EQ(of_plan["what_if"][i]["refit_s"], of_job["what_if"][i]["refit_s"]);
  EXPECT_GE(of_plan["what_if"].size(), 4u);
}

TEST_F(Explain, SimulationTellsWhatWaitingCosts) {
  const Json json = json_of({"explain", job(), "--simulate", "--rivals", "p2p"});
  EXPECT_EQ(json["predicted_by"], "simulate");
  EXPECT_TRUE(json["gap"]["waiting_s"].is_number());
  const double parts = json["gap"]["balance_s"].get<double>() +
                       json["gap"]["fill_s"].get<double>() + json["gap"]["waiting_s"].get<double>();
  EXPECT_NEAR(parts, json["refit_s"].get<double>() - json["bound_s"].get<double>(), 1e-9);
  EXPECT_NE(sentences(json).find("Destinations are ready"), std::string::npos);
  for (const Json& entry : json["what_if"]) EXPECT_EQ(entry["predicted_by"], "simulate");
}

TEST_F(Explain, TheBestRivalIsNamed) {
  const Json json = json_of({"explain", job(), "--rivals", "gather-broadcast,p2p,megatron"});
  const Json* rival = find(json["what_if"], "strategy ");
  ASSERT_NE(rival, nullptr);
  EXPECT_NE((*rival)["note"].get<std::string>().find("the best of"), std::string::npos);
  const Json other = json_of({"explain", job(), "--rivals", "gather-broadcast"});
  EXPECT_LE((*rival)["refit_s"], (*find(other["what_if"], "gather-broadcast"))["refit_s"]);
}

// The plan tells by itself where its job's files are gone.
TEST_F(Explain, APlanWhoseFilesAreGoneIsExplainedWithoutWhatIfs) {
  write("cluster.yaml", "nodes: [{count: 2, gpus: 2, nic: 50GB/s, nvlink: 450GB/s}]\n");
  const std::string text =
      "topology: cluster.yaml\n" + kEightByEight.substr(kEightByEight.find("tensors:"));
  std::string small = text;
  small.replace(small.find("{y: 4}"), 6, "{y: 2}");
  small.replace(small.find("2-5"), 3, "2-3");
  ASSERT_EQ(cli({"plan", write("job.yaml", small), "-o", path("job.plan")}).code, 0);
  std::filesystem::remove(path("cluster.yaml"));
  const CliResult result = cli({"explain", path("job.plan"), "--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.err.find("no what-ifs"), std::string::npos) << result.err;
  EXPECT_EQ(Json::parse(result.out)["what_if"], Json::array());
}

}  // namespace
}  // namespace transload::testing
