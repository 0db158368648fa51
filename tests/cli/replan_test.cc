// `replan`: the plan for other members is the plan of an edited job, and says what stayed.
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using Json = nlohmann::json;

// Both halves of w twice on ranks 0-3, four destinations, an idle node; v only on rank 1.
const std::string kReplicas = R"(
topology: {nodes: [{count: 3, gpus: 4, nic: 50GB/s, nvlink: 450GB/s}]}
tensors:
  - name: w
    shape: [8, 8]
    dtype: bf16
    source:      {mesh: {dp: 2, tp: 2}, placements: [R, S(0)], ranks: 0-3}
    destination: {mesh: {tp: 4}, placements: [S(1)], ranks: 4-7}
  - name: v
    shape: [4]
    dtype: bf16
    source:      {mesh: {x: 1}, placements: [R], ranks: 1}
    destination: {mesh: {x: 1}, placements: [R], ranks: 4}
)";

const std::string kModelJob =
    "model: qwen3-4b\n"
    "topology: {name: dgx-h100, nodes: 2}\n"
    "source: {engine: megatron, gpus: 4, parallel: {tp: 2}}\n"
    "destination: {engine: vllm, gpus: 8, parallel: {tp: 4}}\n";

class Replan : public CliTest {
 protected:
  std::string plan_of(const std::string& text, std::vector<std::string> flags = {}) {
    std::vector<std::string> args = {"plan", write("job.yaml", text), "-o", path("job.plan")};
    args.insert(args.end(), flags.begin(), flags.end());
    EXPECT_EQ(cli(args).code, 0);
    return path("job.plan");
  }
};

TEST_F(Replan, LostRanksMapToNothingAndTheRestToItself) {
  const Json json = json_of({"replan", plan_of(kReplicas), "--without", "2,6"});
  EXPECT_EQ(json["rank_map"], Json::parse(R"({"0":0,"1":1,"2":null,"3":3,"4":4,"5":5,"6":null,
                                              "7":7})"));
  EXPECT_EQ(json["lost_ranks"], Json::parse("[2, 6]"));
  EXPECT_EQ(json["unplaced"], Json::array());
  EXPECT_EQ(json["payload_bytes"], 8 * 6 * 2 + 4 * 2);
  EXPECT_GT(json["reused_fraction"], 0);
  EXPECT_LT(json["reused_fraction"], 1);
  EXPECT_EQ(json["digest"].get<std::string>().size(), 32u);
}

// The new plan is that of the job that it prints, under the strategy and discipline of the old one,
// though those were flags.
TEST_F(Replan, IsThePlanOfTheJobThatItPrints) {
  const std::string plan =
      plan_of(kReplicas, {"--strategy", "p2p:full-tensor", "--discipline", "groups"});
  const Json json = json_of(
      {"replan", plan, "--without", "3", "--job", path("less.yaml"), "-o", path("less.plan")});
  EXPECT_EQ(json["strategy"], "p2p");
  EXPECT_EQ(json["discipline"], "groups");
  EXPECT_EQ(read(path("less.yaml")), json["job"].get<std::string>());
  // Both go by the name of the first plan's job: the digest covers it.
  std::filesystem::create_directory(path("again"));
  const std::string same = write("again/job.yaml", json["job"].get<std::string>());
  EXPECT_EQ(json_of({"plan", same})["digest"], json["digest"]);
  EXPECT_EQ(cli({"check", path("less.plan")}).code, 0);
  EXPECT_NE(json["job"].get<std::string>().find("full-tensor"), std::string::npos);
}

// A second loss joins the first, and ranks keep their numbers.
TEST_F(Replan, CanBeReplannedAgain) {
  const std::string plan = plan_of(kReplicas);
  EXPECT_EQ(cli({"replan", plan, "--without", "2", "-o", path("one.plan")}).code, 0);
  const Json json = json_of({"replan", path("one.plan"), "--without", "7"});
  EXPECT_EQ(json["lost_ranks"], Json::parse("[2, 7]"));
  EXPECT_FALSE(json["rank_map"].contains("2")) << "it took no part in the first new plan";
  const Json at_once = json_of({"replan", plan, "--without", "2,7"});
  EXPECT_EQ(json["digest"], at_once["digest"]);
}

TEST_F(Replan, WithoutAHolderExitCodeTwoAndTheList) {
  const std::string plan = plan_of(kReplicas);
  expect_refused({"replan", plan, "--without", "1"}, {"tensor v", "rank 1", "--allow-missing"});
  const Json refused = json_of({"replan", plan, "--without", "1"}, 2);
  EXPECT_EQ(refused["unplaced"], Json::array({"v"}));
  EXPECT_EQ(refused["missing"][0]["lost_ranks"], Json::array({1}));
  EXPECT_EQ(refused["missing"][0]["nearest_replica"], 4);
  const Json allowed = json_of({"replan", plan, "--without", "1", "--allow-missing"});
  EXPECT_EQ(allowed["unplaced"], Json::array({"v"}));
  EXPECT_EQ(allowed["payload_bytes"], 8 * 8 * 2);
}

TEST_F(Replan, ANicThatIsDown) {
  const Json json = json_of(
      {"replan", plan_of(kReplicas), "--without-nic", "node1:nic0", "--without-nic", "1:3"});
  EXPECT_EQ(json["lost_nics"], Json::parse(R"(["node1:nic0", "1:3"])"));
  for (const auto& [rank, now] : json["rank_map"].items())
    EXPECT_EQ(std::to_string(now.get<int>()), rank);
  EXPECT_EQ(json["payload_bytes"], 8 * 8 * 2 + 4 * 2);
}

TEST_F(Replan, AnEngineIsDroppedWholeAndAnotherComes) {
  const std::string plan = plan_of(kModelJob);
  const Json less = json_of({"replan", plan, "--without", "9"});
  for (const char* rank : {"8", "9", "10", "11"}) EXPECT_TRUE(less["rank_map"][rank].is_null());
  EXPECT_EQ(less["rank_map"]["12"], 12);
  const Json more = json_of({"replan", plan, "--without", "9", "--add", "8"});
  EXPECT_EQ(more["added_ranks"], Json::parse("[16, 17, 18, 19, 20, 21, 22, 23]"));
  EXPECT_EQ(more["payload_bytes"].get<std::int64_t>(),
            3 * less["payload_bytes"].get<std::int64_t>());
  expect_refused({"replan", plan, "--add", "6"}, {"4 GPUs", "found 6"});
}

// Nothing changes but the number of a NIC that nobody uses: every operation stays.
TEST_F(Replan, WhatNobodyUsedLeavesEverythingAsItWas) {
  const Json json = json_of({"replan", plan_of(kReplicas), "--without-nic", "2:0"});
  EXPECT_EQ(json["reused_fraction"], 1);
  EXPECT_EQ(json["connections"]["new"], 0);
  EXPECT_EQ(json["connections"]["dropped"], 0);
  const Json rank = json_of({"replan", plan_of(kReplicas), "--without", "9"});
  EXPECT_EQ(rank["reused_fraction"], 1);
}

TEST_F(Replan, RefusesWhatIsNoChangeOrNoPlan) {
  const std::string plan = plan_of(kReplicas);
  expect_refused({"replan", plan}, {"--without", "--add"});
  expect_refused({"replan", path("job.yaml"), "--without", "1"}, {"expected a plan file"});
  expect_refused({"replan", plan, "--without", "12"}, {"--without", "11"});
  expect_refused({"replan", plan, "--without-nic", "9:0"}, {"no node 9"});
  expect_refused({"replan", plan, "--add", "4"}, {"tensor job"});
}

}  // namespace
}  // namespace transload::testing
