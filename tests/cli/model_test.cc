// transload model: what it lists, in JSON and for people.
#include <algorithm>

#include "tests/cli/cli_fixture.h"

namespace transload::testing {
namespace {

using Json = nlohmann::json;

class ModelCommand : public CliTest {};

std::vector<std::string> names_of(const Json& listing) {
  std::vector<std::string> names;
  for (const Json& row : listing["parameters"]) names.push_back(row["name"]);
  return names;
}

TEST_F(ModelCommand, ListGivesTheSizeOfEachModel) {
  const Json list = json_of({"model", "list"});
  ASSERT_EQ(list["sizes"].size(), list["models"].size());
  const auto found = std::find_if(list["sizes"].begin(), list["sizes"].end(),
                                  [](const Json& size) { return size["name"] == "deepseek-v3"; });
  ASSERT_NE(found, list["sizes"].end());
  EXPECT_EQ((*found)["parameters"], 684489845504);
  EXPECT_EQ((*found)["main_parameters"], 671026419200);
  EXPECT_EQ((*found)["tensors"], 46183);
  EXPECT_NE(cli({"model", "list"}).out.find("2,779,484,478,208"), std::string::npos);
}

TEST_F(ModelCommand, ShowGivesPartsAndWhatIsUnverified) {
  const Json show = json_of({"model", "show", "deepseek-v4-pro"});
  EXPECT_EQ(show["parts"]["main"]["parameters"], 1572997201763);
  EXPECT_EQ(show["parts"]["buffer"]["parameters"], 2327040);
  EXPECT_EQ(show["parts"]["buffer"]["tensors"], 3);
  EXPECT_EQ(show["parameters"], 1598839674782);
  EXPECT_FALSE(show["parts"].contains("vision"));
  EXPECT_EQ(json_of({"model", "show", "nemotron-3-ultra"})["unverified"],
            Json::array({"mtp_hybrid_override_pattern"}));
  EXPECT_TRUE(json_of({"model", "show", "qwen3.5-35b-a3b"})["published"].is_null());
  const std::string text = cli({"model", "show", "llama-4-scout"}).out;
  for (const char* word :
       {"of them main", "871,932,416 more parameters than ours, as noted", "vision tower"})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  EXPECT_NE(cli({"model", "show", "ling-1t"}).out.find("unverified"), std::string::npos);
}

TEST_F(ModelCommand, ShowOfAQuantisedCheckpoint) {
  const Json show = json_of({"model", "show", "deepseek-v3", "--quantised", "fp8-block128"});
  EXPECT_EQ(show["quantised"]["scale_elements"], 41540496);
  // bf16 3,918,786,560 x 2 + e4m3 680,571,043,840 + fp32 41,555,600 x 4, as published.
  EXPECT_EQ(show["quantised"]["bytes"], 688574839360);
  EXPECT_NE(
      cli({"model", "show", "deepseek-v3", "--quantised", "fp8-block128"}).out.find("41,540,496"),
      std::string::npos);
}

TEST_F(ModelCommand, ParamsAreFiltered) {
  const Json listing =
      json_of({"model", "params", "qwen3-30b-a3b", "--filter", "*layers.0.self_attn.?_proj.*"});
  const std::string base = "model.layers.0.self_attn.";
  EXPECT_EQ(names_of(listing),
            (std::vector<std::string>{base + "q_proj.weight", base + "k_proj.weight",
                                      base + "v_proj.weight", base + "o_proj.weight"}));
  EXPECT_EQ(listing["count"], 4);
  EXPECT_EQ(listing["truncated"], false);
  EXPECT_EQ(listing["parameters"][0]["kind"], "attention-q");
  EXPECT_EQ(listing["parameters"][0]["layer"], 0);
  EXPECT_EQ(listing["elements"], (2 * 4096 + 2 * 512) * 2048);
}

TEST_F(ModelCommand, LogicalTensorsAreThePartsOfFusedOnes) {
  const Json listing = json_of({"model", "params", "gpt-oss-20b", "--logical", "--filter",
                                "model.layers.0.mlp.experts.gate_up_proj/31/*"});
  const std::string base = "model.layers.0.mlp.experts.gate_up_proj/31/";
  EXPECT_EQ(names_of(listing), (std::vector<std::string>{base + "gate", base + "up"}));
  EXPECT_EQ(listing["parameters"][0]["shape"], Json::array({2880, 2880}));
  EXPECT_EQ(listing["parameters"][0]["expert"], 31);
  EXPECT_EQ(listing["parameters"][1]["kind"], "expert-up");
}

TEST_F(ModelCommand, QuantisedParamsHaveScales) {
  const Json listing = json_of({"model", "params", "deepseek-v3", "--quantised", "fp8-block128",
                                "--filter", "model.layers.0.self_attn.kv_a_proj_with_mqa.*"});
  ASSERT_EQ(listing["count"], 2);
  EXPECT_EQ(listing["parameters"][0]["dtype"], "fp8-e4m3");
  EXPECT_EQ(listing["parameters"][1]["shape"], Json::array({5, 56}));
  EXPECT_EQ(listing["parameters"][1]["kind"], "scale");
}

TEST_F(ModelCommand, WrongArgumentsAreRefused) {
  const auto refused = [](const std::vector<std::string>& args, const std::string& word) {
    const CliResult result = cli(args);
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
  };
  refused({"model", "params", "llama-3.1-8b", "--filter", "none*"}, "--filter: no tensor");
  refused({"model", "params", "llama-3.1-8b", "--quantised", "fp8-block"},
          "did you mean fp8-block128?");
  refused({"model", "params", "llama-3.1-8b", "--logical", "--quantised", "mxfp8"}, "--logical");
  refused({"model", "show", "nemotron-3-nan"}, "did you mean nemotron-3-nano?");
}

}  // namespace
}  // namespace transload::testing
