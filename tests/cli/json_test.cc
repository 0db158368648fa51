// The JSON keys that shared scripts rely on, and the figures that the 8 x 8 job must have.
#include "planner/strategy/strategy.h"
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using Json = nlohmann::json;

class Json8x8 : public CliTest {};

void expect_keys(const Json& json, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) EXPECT_TRUE(json.contains(key)) << key;
}

TEST_F(Json8x8, PlanHasItsKeysAndCounts) {
  const Json json = json_of({"plan", job(), "-o", path("out.plan")});
  expect_keys(json, {"digest",
                     "strategy",
                     "discipline",
                     "ranks",
                     "tensors",
                     "demand_classes",
                     "operations",
                     "slices",
                     "payload_bytes",
                     "network_bytes",
                     "nvlink_bytes",
                     "local_bytes",
                     "max_nic_out_bytes",
                     "max_nic_in_bytes",
                     "staging_bytes",
                     "plan_s",
                     "bound_s",
                     "buffers",
                     "unplaced",
                     "needs_conversion",
                     "max_peers_used",
                     "split_blocks",
                     "spanning_groups"});
  EXPECT_EQ(json["strategy"], "transload");
  EXPECT_EQ(json["ranks"], 6);
  EXPECT_EQ(json["demand_classes"], 8);
  EXPECT_EQ(json["payload_bytes"], 256);
  EXPECT_EQ(json["network_bytes"], 256);
  EXPECT_EQ(json["max_nic_out_bytes"], 128);  // half of the tensor leaves each source
  EXPECT_EQ(json["max_nic_in_bytes"], 64);    // a quarter enters each destination
  EXPECT_EQ(json["max_peers_used"], 4);
  EXPECT_EQ(json["buffers"]["0"]["source"], 128);
  EXPECT_EQ(json["buffers"]["5"]["destination"], 64);
  EXPECT_EQ(json["unplaced"], Json::array());
  EXPECT_TRUE(std::filesystem::exists(path("out.plan")));
  EXPECT_EQ(json["digest"].get<std::string>().size(), 32u);
}

TEST_F(Json8x8, SamePlanHasTheSameDigest) {
  EXPECT_EQ(json_of({"plan", job()})["digest"], json_of({"plan", job()})["digest"]);
  EXPECT_NE(json_of({"plan", job()})["digest"],
            json_of({"plan", job(), "--discipline", "groups"})["digest"]);
}

TEST_F(Json8x8, TransfersAreEightBoxesOf32Bytes) {
  const Json json = json_of({"transfers", job()});
  EXPECT_EQ(json["count"], 8);
  EXPECT_EQ(json["pairs"], 8);
  EXPECT_EQ(json["bytes"], 256);
  EXPECT_EQ(json["truncated"], false);
  ASSERT_EQ(json["operations"].size(), 8u);
  for (const Json& operation : json["operations"]) {
    EXPECT_EQ(operation["tensor"], "w");
    EXPECT_EQ(operation["bytes"], 32);
    const Json& box = operation["box"];
    EXPECT_EQ(box[0][1].get<int>() - box[0][0].get<int>(), 4);
    EXPECT_EQ(box[1][1].get<int>() - box[1][0].get<int>(), 2);
    EXPECT_EQ(operation["holders"], Json::array({operation["source_rank"]}));
    EXPECT_EQ(operation["source_runs"], 4);
    EXPECT_EQ(operation["destination_runs"], 1);
    EXPECT_TRUE(operation.contains("destination_rank"));
  }
  EXPECT_EQ(json["shards"]["w"]["source"]["1"], Json::parse("[[[4, 8], [0, 8]]]"));
  EXPECT_EQ(json["shards"]["w"]["destination"]["3"], Json::parse("[[[0, 8], [2, 4]]]"));
  EXPECT_EQ(json["buffers"]["0"]["w"], 128);
  EXPECT_EQ(json["buffers"]["5"]["w"], 64);
}

TEST_F(Json8x8, TransfersStayExactWhenTruncated) {
  const Json json = json_of({"transfers", job(), "--limit", "3"});
  EXPECT_EQ(json["operations"].size(), 3u);
  EXPECT_EQ(json["count"], 8);
  EXPECT_EQ(json["bytes"], 256);
  EXPECT_EQ(json["truncated"], true);
}

TEST_F(Json8x8, TransfersOfARankOnBothSidesNameTwoBuffers) {
  std::string text = kEightByEight;
  text.replace(text.find("2-5"), 3, "0-3");
  const Json json = json_of({"transfers", write("both.yaml", text)});
  EXPECT_EQ(json["buffers"]["0"]["w"], 128);
  EXPECT_EQ(json["buffers"]["0"]["w (destination)"], 64);
}

TEST_F(Json8x8, ShowListsEveryOperationOfJobAndPlan) {
  const std::string plan = plan_file();
  const Json json = json_of({"show", plan});
  EXPECT_EQ(json["count"], json_of({"plan", job()})["operations"]);
  EXPECT_EQ(json["truncated"], false);
  expect_keys(json["operations"][0],
              {"id", "kind", "source_rank", "destination_rank", "bytes", "link", "role", "ports",
               "hop", "key", "group", "bundle", "chunk", "tensors", "after", "stream"});
  EXPECT_EQ(json, json_of({"show", job()}));
  const Json of_rank = json_of({"show", plan, "--rank", "2", "--tensor", "w", "--limit", "1"});
  EXPECT_EQ(of_rank["operations"].size(), 1u);
  EXPECT_EQ(of_rank["truncated"], true);
}

TEST_F(Json8x8, CheckFindsNothing) {
  for (const char* strategy : {"transload", "p2p", "gather-broadcast"}) {
    const Json json = json_of({"check", job(), "--strategy", strategy});
    EXPECT_EQ(json["ok"], true);
    EXPECT_EQ(json["violations"], Json::array());
  }
}

TEST_F(Json8x8, BoundNamesTheFamily) {
  const Json json = json_of({"bound", job()});
  expect_keys(json, {"bound_s", "bound_line_rate_s", "binding", "bounds"});
  std::vector<std::string> names;
  for (const Json& bound : json["bounds"]) {
    expect_keys(bound, {"name", "port", "seconds", "conditional"});
    names.push_back(bound["name"]);
  }
  for (const char* name : {"dst_gpu", "domain_in", "src_once", "nvlink"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  // 256 bytes must leave two NICs of 50 GB/s each.
  EXPECT_EQ(json["binding"], "src_once");
  EXPECT_NEAR(json["bound_line_rate_s"].get<double>(), 256 / 100e9, 2e-12);
}

// facts/theory.md section 5, A and A': one-byte elements, NICs of 1 B/s, NVLink of 9 B/s. All 64
// bytes leave two NICs: 32 s. With two replicas on four trainers they leave four NICs: 16 s.
TEST_F(Json8x8, BoundOfTheTextbookExamples) {
  const auto text = [](int trainers, const char* source, const char* destination) {
    return "topology:\n  nodes:\n    - {gpus: " + std::to_string(trainers) +
           ", nic: 1B/s, nvlink: 9B/s}\n    - {gpus: 4, nic: 1B/s, nvlink: 9B/s}\n"
           "  efficiency: 1\n  latency: 0\ntensors:\n"
           "  - {name: w, shape: [8, 8], dtype: uint8, source: " +
           source + ", destination: {mesh: {y: 4}, placements: [S(1)], ranks: " + destination +
           "}}\n";
  };
  const Json a = json_of(
      {"bound", write("a.yaml", text(2, "{mesh: {x: 2}, placements: [S(0)], ranks: 0-1}", "2-5"))});
  EXPECT_EQ(a["binding"], "src_once");
  EXPECT_DOUBLE_EQ(a["bound_s"].get<double>(), 32.0);
  const Json b = json_of(
      {"bound",
       write("b.yaml", text(4, "{mesh: {r: 2, x: 2}, placements: [R, S(0)], ranks: 0-3}", "4-7"))});
  EXPECT_DOUBLE_EQ(b["bound_s"].get<double>(), 16.0);
}

TEST_F(Json8x8, SimulateHasItsKeys) {
  for (const std::string& subject : {job(), plan_file()}) {
    const Json json = json_of({"simulate", subject, "--trace", path("t.json")});
    expect_keys(json,
                {"refit_s", "estimate_s", "bound_s", "bound_line_rate_s", "ratio_to_bound",
                 "discipline", "first_refit_s", "pause_s", "fits", "peak_bytes", "source_free_s",
                 "destination_ready_s", "phases", "links", "critical_path", "simulate_s"});
    expect_keys(json["source_free_s"], {"median", "max"});
    expect_keys(json["links"][0], {"name", "kind", "bytes", "busy_s", "utilisation"});
    EXPECT_TRUE(json["first_refit_s"].is_null()) << "the host executor connects when it starts";
    EXPECT_GT(json["pause_s"].get<double>(), 0);
    EXPECT_LE(json["pause_s"].get<double>(), json["refit_s"].get<double>());
    EXPECT_TRUE(json["fits"].is_null());  // the job says nothing of its GPUs' memory
    EXPECT_EQ(json["destination_ready_s"].size(), 4u);
    EXPECT_GT(json["refit_s"].get<double>(), json["bound_s"].get<double>());
    EXPECT_TRUE(Json::accept(read(path("t.json"))));
  }
}

// 50 GB over one link of 50 GB/s: one second.
TEST_F(Json8x8, SimulatesOneLinkToOneSecond) {
  const std::string text =
      "topology: {nodes: [{count: 2, gpus: 1, nic: 50GB/s}], efficiency: 1, latency: 0}\n"
      "tensors:\n  - {name: w, shape: [50000000000], dtype: uint8, "
      "source: {mesh: {x: 1}, placements: [R], ranks: 0}, "
      "destination: {mesh: {x: 1}, placements: [R], ranks: 1}}\n";
  const Json json = json_of({"simulate", write("one.yaml", text), "--exact"});
  EXPECT_NEAR(json["refit_s"].get<double>(), 1.0, 1e-3);
  EXPECT_NEAR(json["estimate_s"].get<double>(), 1.0, 1e-3);
}

TEST_F(Json8x8, CompareHasOneRowPerStrategy) {
  const Json json = json_of({"compare", job()});
  EXPECT_TRUE(json.contains("bound_s"));
  ASSERT_EQ(json["rows"].size(), strategies().size());
  for (std::size_t i = 0; i < strategies().size(); ++i) {
    const Json& row = json["rows"][i];
    EXPECT_EQ(row["strategy"], strategies()[i].name);
    expect_keys(row, {"strategy", "mode", "refit_s", "ideal_s", "ratio_to_bound", "discipline",
                      "other_discipline_s", "network_bytes", "bottleneck", "unsupported"});
    EXPECT_EQ(row["discipline"], "windows");
    if (row["unsupported"].empty())
      EXPECT_GE(row["refit_s"].get<double>(), row["ideal_s"].get<double>());
    else
      EXPECT_TRUE(row["refit_s"].is_null());
  }
  const Json& gather = json["rows"][2];
  ASSERT_EQ(gather["strategy"], "gather-broadcast");
  EXPECT_NEAR(gather["export_s"].get<double>() + gather["broadcast_s"].get<double>() +
                  gather["load_s"].get<double>(),
              gather["refit_s"].get<double>(), 1e-12);
  EXPECT_FALSE(gather["assumptions"].empty());
}

TEST_F(Json8x8, CompareAgreesWithSimulate) {
  const Json rows = json_of({"compare", job(), "--strategies", "p2p"})["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["refit_s"], json_of({"simulate", job(), "--strategy", "p2p"})["refit_s"]);
  const double other =
      json_of({"simulate", job(), "--strategy", "p2p", "--discipline", "groups"})["refit_s"];
  EXPECT_NEAR(rows[0]["other_discipline_s"].get<double>(), other, 0.01 * other) << "a side figure";
}

// One byte of staging is too little for chunks, but buckets do not count as staging.
TEST_F(Json8x8, CompareSaysWhatIsUnsupported) {
  const std::string job = write("tight.yaml", kEightByEight + "options: {staging_bytes: 1B}\n");
  const Json rows = json_of({"compare", job, "--strategies", "p2p,gather-broadcast"})["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows[0]["refit_s"].is_null());
  EXPECT_NE(rows[0]["unsupported"][0]["limit"].get<std::string>().find("staging_bytes"),
            std::string::npos);
  expect_keys(rows[0]["unsupported"][0], {"limit", "value", "tensor"});
  EXPECT_GT(rows[1]["refit_s"].get<double>(), 0);
  EXPECT_EQ(rows[1]["unsupported"], Json::array());
}

// Rows on one side, columns on the other: Megatron's planner has one dimension for both.
TEST_F(Json8x8, CompareAndPlanNameTheLimitsOfASystem) {
  const Json rows = json_of({"compare", job(), "--strategies", "awex,megatron"})["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["unsupported"], Json::array());
  EXPECT_TRUE(rows[1]["refit_s"].is_null());
  ASSERT_EQ(rows[1]["unsupported"].size(), 1u);
  EXPECT_EQ(rows[1]["unsupported"][0], (Json{{"limit", "the same sharded dimension on both sides"},
                                             {"value", "0 and 1"},
                                             {"tensor", "w"}}));
  const CliResult plan = cli({"plan", job(), "--strategy", "megatron"});
  EXPECT_EQ(plan.code, 2);
  EXPECT_NE(plan.err.find("the same sharded dimension on both sides (tensor w: 0 and 1)"),
            std::string::npos)
      << plan.err;
}

TEST_F(Json8x8, CompareHasM2nInEachOfItsModes) {
  const Json rows =
      json_of({"compare", job(), "--strategies",
               "m2n,m2n:parent-node-aware,m2n:parent-uniform,{m2n: {mode: direct}}"})["rows"];
  ASSERT_EQ(rows.size(), 4u);
  const char* const modes[] = {nullptr, "parent-node-aware", "parent-uniform", "direct"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i]["strategy"], "m2n");
    EXPECT_EQ(rows[i]["mode"], modes[i] == nullptr ? Json(nullptr) : Json(modes[i]));
    EXPECT_EQ(rows[i]["unsupported"], Json::array());
    EXPECT_GT(rows[i]["refit_s"].get<double>(), 0);
  }
  // Rows to columns without replicas: the pairs are the same whoever balances.
  EXPECT_EQ(rows[1]["network_bytes"], rows[3]["network_bytes"]);
}

// Uneven rows on one side and both dimensions cut on the other: two limits, both named.
TEST_F(Json8x8, M2nNamesEveryLimitInTheWay) {
  std::string text = kEightByEight;
  const std::string rows_of_two = "{mesh: {x: 2}, placements: [S(0)], ranks: 0-1}";
  const std::string columns_of_four = "{mesh: {y: 4}, placements: [S(1)], ranks: 2-5}";
  text.replace(text.find(rows_of_two), rows_of_two.size(),
               "{mesh: {x: 2}, placements: [S(0)], sizes: {0: [5, 3]}, ranks: 0-1}");
  text.replace(text.find(columns_of_four), columns_of_four.size(),
               "{mesh: {y: 2, z: 2}, placements: [S(0), S(1)], ranks: 2-5}");
  const std::string job = write("limits.yaml", text);
  const Json row = json_of({"compare", job, "--strategies", "m2n,p2p"})["rows"][0];
  EXPECT_TRUE(row["refit_s"].is_null());
  EXPECT_EQ(row["unsupported"],
            (Json::array({{{"limit", "shards of equal length"},
                           {"value", "dimension 0 of length 8 in 2 on the source"},
                           {"tensor", "w"}},
                          {{"limit", "one sharded dimension per side"},
                           {"value", "2 on the destination"},
                           {"tensor", "w"}}})));
  const CliResult plan = cli({"plan", job, "--strategy", "m2n"});
  EXPECT_EQ(plan.code, 2);
  for (const char* words : {"shards of equal length", "one sharded dimension per side", "tensor w"})
    EXPECT_NE(plan.err.find(words), std::string::npos) << plan.err;
}

TEST_F(Json8x8, RunVerifiesEveryByte) {
  for (const std::string& subject : {job(), plan_file()}) {
    const Json json =
        json_of({"run", subject, "--backend", "host", "--verify", "--iterations", "2", "--trace",
                 path("t.json"), "--deadline", "60", "--report", path("report")});
    expect_keys(json, {"refit_s", "refit_min_s", "refit_max_s", "verified_bytes",
                       "mismatched_bytes", "planned_for", "executed_on", "ranks", "state"});
    EXPECT_EQ(json["verified_bytes"], 256);
    EXPECT_EQ(json["mismatched_bytes"], 0);
    EXPECT_EQ(json["executed_on"], "host");
    EXPECT_EQ(json["state"], "new");
    EXPECT_EQ(json["ranks"], 6);
    EXPECT_TRUE(Json::accept(read(path("t.json"))));
  }
  const Json source = Json::parse(read(path("report/rank-0.json")));
  EXPECT_TRUE(source["state"].is_null());
  const Json destination = Json::parse(read(path("report/rank-5.json")));
  EXPECT_EQ(destination["state"], "new");
  EXPECT_EQ(destination["bytes"], 64);
  EXPECT_GT(destination["refit_s"].get<double>(), 0);
}

TEST_F(Json8x8, RunScalesAndDryRunMovesNothing) {
  const Json scaled = json_of({"run", job(), "--scale", "4", "--verify"});
  EXPECT_EQ(scaled["scale"], 4);
  EXPECT_EQ(scaled["verified_bytes"], 64);
  const Json dry = json_of({"run", job(), "--dry-run"});
  EXPECT_TRUE(dry["refit_s"].is_null());
  EXPECT_TRUE(dry["executed_on"].is_null());
  EXPECT_EQ(dry["state"], "old");
}

TEST_F(Json8x8, RenderNamesItsFile) {
  EXPECT_EQ(json_of({"render", job(), "-o", path("p.dot")})["file"], path("p.dot"));
  EXPECT_NE(read(path("p.dot")).find("graph"), std::string::npos);
  EXPECT_NE(json_of({"render", job(), "--view", "operations", "--rank", "2"})["dot"]
                .get<std::string>()
                .find("graph"),
            std::string::npos);
}

TEST_F(Json8x8, ModelsAndTopologies) {
  const Json model = json_of({"model", "show", "deepseek-v3"});
  expect_keys(model, {"parameters", "main_parameters", "bytes", "tensors"});
  EXPECT_EQ(model["parameters"], 684489845504);
  EXPECT_EQ(model["main_parameters"], 671026419200);
  EXPECT_EQ(model["published"]["difference"], 0);
  EXPECT_EQ(json_of({"model", "show", "qwen3-30b-a3b"})["parameters"], 30532122624);
  const Json params = json_of({"model", "params", "qwen3-30b-a3b", "--limit", "2"});
  EXPECT_EQ(params["parameters"].size(), 2u);
  EXPECT_EQ(params["count"], 18867);
  EXPECT_EQ(params["truncated"], true);
  EXPECT_FALSE(json_of({"model", "list"})["models"].empty());

  const Json topology = json_of({"topology", "show", "dgx-h100", "nodes=2"});
  expect_keys(topology, {"nodes", "gpus", "nvlink_domains", "nics", "nic_of_gpu", "rails",
                         "switches", "ignored", "asked"});
  EXPECT_EQ(topology["nodes"], 2);
  EXPECT_EQ(topology["gpus"], 16);
  ASSERT_EQ(topology["nvlink_domains"].size(), 2u);
  EXPECT_EQ(topology["nvlink_domains"][1]["gpus"][0], 8);
  EXPECT_EQ(topology["rails"], 8);
  EXPECT_EQ(topology["nic_of_gpu"]["9"], Json::array({9}));
  expect_keys(topology["nics"][0], {"name", "numa", "rate"});
  EXPECT_EQ(json_of({"topology", "show", "dgx-h100"})["nodes"], 1);
  const Json names = json_of({"topology", "list"})["topologies"];
  EXPECT_NE(std::find(names.begin(), names.end(), "dgx-h100"), names.end());
}

}  // namespace
}  // namespace transload::testing
