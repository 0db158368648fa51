// What `simulate` says besides the refit time, and under which conditions.
#include <gmock/gmock.h>

#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

// 50 GB from node 0 to node 1 over NICs of 50 GB/s: one second.
const std::string kOneSecond =
    "topology: {nodes: [{count: 2, gpus: 2, nic: 50GB/s, nvlink: 450GB/s}], efficiency: 1, "
    "latency: "
    "0}\n"
    "tensors:\n  - {name: w, shape: [50000000000], dtype: uint8, "
    "source: {mesh: {x: 1}, placements: [R], ranks: 0}, "
    "destination: {mesh: {x: 1}, placements: [R], ranks: 2}}\n"
    "strategy: p2p\noptions: {helpers: none}\n";

class SimulateTest : public CliTest {
 protected:
  Json simulate(const std::vector<std::string>& more, const std::string& text = kOneSecond) const {
    std::vector<std::string> args = {"simulate", write("one.yaml", text)};
    args.insert(args.end(), more.begin(), more.end());
    return json_of(args);
  }
};

TEST_F(SimulateTest, OtherTrafficTakesItsShareOfPlanAndBound) {
  const Json json = simulate({"--background", "0.5"});
  EXPECT_NEAR(json["refit_s"].get<double>(), 2, 0.02);
  EXPECT_NEAR(json["bound_s"].get<double>(), 2, 0.001);
  EXPECT_NEAR(json["bound_line_rate_s"].get<double>(), 1, 0.001) << "the line stays";
  EXPECT_THAT(json["conditions"].dump(), HasSubstr("takes 50 % of every NIC"));
}

TEST_F(SimulateTest, NamesTheEngineAndTakesTheOther) {
  EXPECT_EQ(simulate({})["engine"], "simgrid") << "small plans";
  const Json ours = simulate({"--engine", "max-min"});
  EXPECT_EQ(ours["engine"], "max-min");
  EXPECT_NEAR(ours["refit_s"].get<double>(), simulate({})["refit_s"].get<double>(), 1e-6);
  expect_refused({"simulate", write("one.yaml", kOneSecond), "--engine", "ns3"},
                 {"--engine", "max-min"});
}

TEST_F(SimulateTest, ASlowNicIsPlannedFor) {
  const Json json = simulate({"--fault", "node0.nic0=0.25"});
  EXPECT_NEAR(json["refit_s"].get<double>(), 4, 0.04);
  EXPECT_NEAR(json["bound_s"].get<double>(), 4, 0.001);
}

TEST_F(SimulateTest, ANicThatIsDownIsPlannedAround) {
  const Json json = simulate({"--fault", "node0.nic0=down"});
  EXPECT_NEAR(json["refit_s"].get<double>(), 1, 0.01);
  EXPECT_THAT(json["conditions"].dump(), HasSubstr("GPU 0 shares node0.nic1"));
}

TEST_F(SimulateTest, APlanMeetsAFaultUnprepared) {
  const std::string plan = path("one.plan");
  ASSERT_EQ(cli({"plan", write("one.yaml", kOneSecond), "-o", plan}).code, 0);
  const Json json = json_of({"simulate", plan, "--fault", "node1.nic0=half"});
  EXPECT_NEAR(json["refit_s"].get<double>(), 2, 0.02);
  EXPECT_NEAR(json["bound_s"].get<double>(), 1, 0.001) << "as planned";
  EXPECT_THAT(json["conditions"].dump(), HasSubstr("without knowing"));
  expect_refused({"simulate", plan, "--fault", "node0.nic0=down"}, {"is down", "give its job"});
  expect_refused({"simulate", plan, "--source-memory", "host"}, {"give the job"});
  expect_refused({"simulate", plan, "--rolling", "1"}, {"give its job"});
}

TEST_F(SimulateTest, RefusesConditionsThatMakeNoSense) {
  const std::string job = write("one.yaml", kOneSecond);
  expect_refused({"simulate", job, "--background", "1"}, {"--background", "below 1"});
  expect_refused({"simulate", job, "--fault", "node9.nic0=down"}, {"no NIC node9.nic0"});
  expect_refused({"simulate", job, "--source-memory", "disk"}, {"expected gpu or host"});
  // Rows into columns are packed, and a pack reads the host's memory over the GPU's link.
  expect_refused({"simulate", std::string(TRANSLOAD_SOURCE_DIR) + "/examples/8x8.yaml",
                  "--source-memory", "host"},
                 {"rank 0", "link to the host is not known"});
  expect_refused({"simulate", job, "--reserve", "most"}, {"--reserve"});
  expect_refused({"simulate", job, "--rolling", "1"}, {"whole-model job"});
  expect_refused({"simulate", job, "--refits-per-day", "-1"}, {"--refits-per-day"});
}

TEST_F(SimulateTest, ARangeNeedsRanges) {
  const Json none = simulate({"--range"})["range"];
  EXPECT_EQ(none["low_s"], none["high_s"]);
  EXPECT_EQ(none["varies"], Json::array());
  std::string text = kOneSecond;
  text.replace(text.find("efficiency: 1"), 13, "efficiency: {likely: 0.8, low: 0.4, high: 1}");
  const Json range = simulate({"--range"}, text)["range"];
  EXPECT_NEAR(range["low_s"].get<double>(), 1, 0.02);
  EXPECT_NEAR(range["likely_s"].get<double>(), 1.25, 0.02);
  EXPECT_NEAR(range["high_s"].get<double>(), 2.5, 0.03);
}

// Two H100 nodes of trainers, two of engines of eight GPUs.
const std::string kModel =
    "model: qwen3-4b\ntopology: {name: dgx-h100, nodes: 4}\n"
    "source: {engine: megatron, gpus: 16, parallel: {tp: 2, pp: 2}}\n"
    "destination: {engine: vllm, gpus: 16, parallel: {tp: 8}}\n";

TEST_F(SimulateTest, SizesACluster) {
  const Json json = simulate({"--refits-per-day", "100"}, kModel);
  ASSERT_EQ(json["replicas"].size(), 2u);
  EXPECT_EQ(json["replicas"][1]["name"], "destination replica 1");
  EXPECT_EQ(json["replicas"][1]["ranks"][0], 24);
  double pause = 0;
  for (const Json& replica : json["replicas"]) {
    EXPECT_LE(replica["ready_s"].get<double>(), json["refit_s"].get<double>());
    pause = std::max(pause, replica["pause_s"].get<double>());
  }
  EXPECT_DOUBLE_EQ(json["pause_s"].get<double>(), pause);
  ASSERT_EQ(json["source_stages"].size(), 2u);
  EXPECT_EQ(json["source_stages"][0]["name"], "stage 0");
  EXPECT_EQ(json["source_stages"][0]["ranks"].size(), 8u);
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["memory"].size(), 32u);
  EXPECT_GT(json["first_refit_s"].get<double>(), json["refit_s"].get<double>());
  EXPECT_NEAR(json["first_refit_s"].get<double>(),
              json["refit_s"].get<double>() + json["first_refit"]["connect_s"].get<double>() +
                  json["first_refit"]["register_s"].get<double>(),
              1e-9);
  EXPECT_NEAR(json["gpu_hours_per_day"].get<double>(),
              100 * json["gpu_hours_per_refit"].get<double>(), 1e-9);
  EXPECT_EQ(simulate({"--reserve", "80GB"}, kModel)["fits"], false);
}

TEST_F(SimulateTest, ARollingRefitServesMeanwhile) {
  const Json json = simulate({"--rolling", "1"}, kModel);
  const Json& rolling = json["rolling"];
  EXPECT_EQ(rolling["replicas"], 2);
  ASSERT_EQ(rolling["waves"].size(), 2u);
  double total = 0;
  for (const Json& wave : rolling["waves"]) {
    EXPECT_EQ(wave["replicas"].size(), 1u);
    EXPECT_GE(wave["refit_s"].get<double>(), wave["bound_s"].get<double>());
    // Half of the destinations: no more work than all of them together.
    EXPECT_LE(wave["refit_s"].get<double>(), 1.1 * json["refit_s"].get<double>());
    total += wave["refit_s"].get<double>();
  }
  EXPECT_NEAR(rolling["total_s"].get<double>(), total, 1e-12);
  // All at once is one wave: the refit itself.
  const Json all = simulate({"--rolling", "9"}, kModel);
  ASSERT_EQ(all["rolling"]["waves"].size(), 1u);
  EXPECT_DOUBLE_EQ(all["rolling"]["total_s"].get<double>(), all["refit_s"].get<double>());
}

TEST_F(SimulateTest, SourcesOnTheHostAreSlower) {
  const Json gpu = simulate({}, kModel);
  const Json host = simulate({"--source-memory", "host"}, kModel);
  EXPECT_GE(host["refit_s"].get<double>(), gpu["refit_s"].get<double>());
  EXPECT_LT(host["memory"][0]["peak_bytes"].get<double>(),
            gpu["memory"][0]["peak_bytes"].get<double>());
}

TEST_F(SimulateTest, TextSaysWhatSizesACluster) {
  const CliResult result = cli(
      {"simulate", write("m.yaml", kModel), "--range", "--rolling", "1", "--background", "0.1"});
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* words : {"longest pause", "first refit", "GPU hours", "source stages free",
                            "range: ", "rolling refit, 1 of 2", "other traffic takes 10 %"})
    EXPECT_THAT(result.out, HasSubstr(words));
}

TEST_F(SimulateTest, ExportsGoal) {
  const Json json = json_of({"export", job(), "--format", "goal"});
  EXPECT_EQ(json["ranks"], 6);
  EXPECT_THAT(json["text"].get<std::string>(), HasSubstr("num_ranks 6\n"));
  EXPECT_EQ(cli({"export", job(), "-o", path("g.goal")}).code, 0);
  EXPECT_EQ(read(path("g.goal")), json["text"].get<std::string>());
  expect_refused({"export", job(), "--format", "chakra"}, {"expected goal"});
}

}  // namespace
}  // namespace transload::testing
