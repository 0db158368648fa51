// Destinations in another type, from the job to every command that shows it.
#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using Json = nlohmann::json;

class CliConversion : public CliTest {
 protected:
  // Qwen3-30B-A3B from a Megatron node to two-way tensor-parallel engines of the other node.
  std::string model_job(const std::string& destination) const {
    return write("model.yaml",
                 "model: qwen3-30b-a3b\n"
                 "topology: {name: dgx-h100, nodes: 2}\n"
                 "source: {engine: megatron, gpus: 8, parallel: {tp: 2, pp: 2, ep: 4}}\n"
                 "destination: {engine: vllm, gpus: 8, " +
                     destination + "}\n");
  }
  std::string small_job(const std::string& source, const std::string& strategy) const {
    return write(
        "small.yaml",
        "topology: {name: dgx-h100, nodes: 2}\n"
        "strategy: " +
            strategy +
            "\n"
            "tensors:\n"
            "  - {name: w, shape: [384, 128], dtype: bf16, source: {" +
            source +
            "},\n"
            "     destination: {mesh: {y: 1}, placements: [R], ranks: 8, dtype: fp8-block128}}\n");
  }
};

// Linear layers and experts are one byte instead of two; embedding and output layer stay bf16 (2 of
// 61 GB), norms and routers too, and scales add 1/4096.
TEST_F(CliConversion, AWholeModelCostsHalfTheNetworkBytes) {
  const Json bf16 = json_of({"plan", model_job("parallel: {tp: 2}")});
  const Json fp8 = json_of(
      {"plan", model_job("parallel: {tp: 2}, dtype: fp8-block128"), "-o", path("fp8.plan")});
  const double ratio = fp8["network_bytes"].get<double>() / bf16["network_bytes"].get<double>();
  EXPECT_GT(ratio, 0.50);
  EXPECT_LT(ratio, 0.53);
  EXPECT_LT(fp8["bound_s"].get<double>(), 0.55 * bf16["bound_s"].get<double>());
  EXPECT_EQ(fp8["split_blocks"], Json::array());
  std::int64_t converted = 0;
  for (const Json& entry : fp8["needs_conversion"]) {
    EXPECT_EQ(entry["what"], "bf16 to fp8-block128 on the source, before the wire");
    converted += entry["tensors"].get<std::int64_t>();
  }
  EXPECT_EQ(converted, 48 * (4 + 128 * 3));  // q, k, v, o and three matrices of 128 experts
  EXPECT_EQ(json_of({"check", path("fp8.plan")})["ok"], true);
  const Json predicted = json_of({"simulate", path("fp8.plan")});
  EXPECT_GT(predicted["refit_s"].get<double>(), 0);
  EXPECT_EQ(std::count_if(predicted["phases"].begin(), predicted["phases"].end(),
                          [](const Json& phase) { return phase["name"] == "convert"; }),
            1);
}

// 768 rows of an expert over four ranks are 192 each: one and a half blocks.
TEST_F(CliConversion, TensorParallelismThatCutsBlocksIsRefused) {
  expect_refused(
      {"plan", model_job("parallel: {tp: 4}, dtype: fp8-block128")},
      {"model.layers.0.mlp.experts", "destination, rank 8", "at 192", "block of fp8-block128"});
}

TEST_F(CliConversion, ShowAndRunSayConvert) {
  const std::string job = small_job("mesh: {x: 1}, placements: [R], ranks: 0", "transload");
  ASSERT_EQ(cli({"plan", job, "-o", path("small.plan")}).code, 0);
  const Json shown = json_of({"show", path("small.plan")});
  ASSERT_EQ(shown["operations"].size(), 3u);  // and a transfer, and the unpack of its two tensors
  EXPECT_EQ(shown["operations"][0]["role"], "convert");
  EXPECT_EQ(shown["operations"][0]["kind"], "convert");
  EXPECT_EQ(shown["operations"][0]["link"], "local");
  EXPECT_EQ(shown["operations"][0]["tensors"], Json({"w", "w.scale"}));
  EXPECT_EQ(cli({"render", path("small.plan"), "--format", "dot"}).code, 0);
  for (const std::string& subject : {job, path("small.plan")})
    expect_refused({"run", subject, "--backend", "host"},
                   {"the plan converts tensors", "w on rank 0", "not run by this version"});
}

TEST_F(CliConversion, SplitBlocksAreListed) {
  const Json json =
      json_of({"plan", small_job("mesh: {x: 4}, placements: [S(0)], ranks: 0-3", "transload")});
  ASSERT_EQ(json["split_blocks"].size(), 1u);
  const Json& split = json["split_blocks"][0];
  EXPECT_EQ(split["tensor"], "w");
  EXPECT_EQ(split["rank"], 0);
  EXPECT_EQ(split["side"], "source");
  EXPECT_EQ(split["at"], 96);
  EXPECT_EQ(json["needs_conversion"][0]["what"],
            "bf16 to fp8-block128 on the receivers, behind the wire");
  EXPECT_EQ(json["network_bytes"], 2 * 384 * 128);
}

TEST_F(CliConversion, CompareSaysWhoCannot) {
  const std::string job = small_job("mesh: {x: 4}, placements: [S(0)], ranks: 0-3", "transload");
  const Json json = json_of({"compare", job, "--strategies", "transload,p2p:full-tensor,m2n"});
  ASSERT_EQ(json["rows"].size(), 3u);
  EXPECT_TRUE(json["rows"][0]["refit_s"].is_number());
  EXPECT_EQ(json["rows"][1]["network_bytes"], 384 * 128 + 3 * 4);
  EXPECT_TRUE(json["rows"][2]["refit_s"].is_null());
  EXPECT_EQ(json["rows"][2]["unsupported"][0]["limit"], "the same dtype on both sides");
}

}  // namespace
}  // namespace transload::testing
