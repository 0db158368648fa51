// The loader: where it looks, what it refuses. Totals are in library_totals_test.cc.
#include "models/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/models/small_models.h"

namespace transload {
namespace {

using ::testing::HasSubstr;

TEST(Library, DeepSeekPartsOfTheTotal) {
  const Model model = load_library_model("deepseek-v3");
  EXPECT_EQ(parameter_count(model, ModelPart::kMtp), 11'610'068'224);
  EXPECT_EQ(parameter_count(model, ModelPart::kMtpCopy), 1'853'358'080);
  const Model main = without_mtp(model);
  EXPECT_EQ(parameter_count(main), 671'026'419'200);
  EXPECT_EQ(main.mtp_layers, 0);
  // Checked against the published fp32 elements that are not scales: 59 sparse layers x 256.
  std::int64_t fp32 = 0;
  for (const Parameter& parameter : model.parameters)
    if (parameter.dtype == DType::kF32) fp32 += element_count(parameter);
  EXPECT_EQ(fp32, 15'104);
}

TEST(Library, AnotherDtypeLeavesRouterBiasesAlone) {
  const Model model = with_dtype(tiny_deepseek(), DType::kF16);
  EXPECT_EQ(model.dtype, DType::kF16);
  for (const Parameter& parameter : model.parameters)
    EXPECT_EQ(parameter.dtype,
              parameter.kind == ParameterKind::kRouterBias ? DType::kF32 : DType::kF16)
        << parameter.name;
}

// A folder of its own, removed at the end.
class LibraryFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("transload-models-") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
               std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()));
    std::filesystem::create_directories(folder_ / "models");
  }
  void TearDown() override {
    unsetenv("TRANSLOAD_HOME");
    std::filesystem::remove_all(folder_);
  }
  static YamlValue model_value(const std::string& text) {
    return YamlValue::from_text("model: " + text, "job.yaml").map().required("model");
  }
  std::filesystem::path folder_;
};

TEST_F(LibraryFiles, HomeComesBeforeTheSources) {
  std::filesystem::copy(model_library_folder() + "/qwen3-30b-a3b.yaml",
                        folder_ / "models" / "mine.yaml");
  setenv("TRANSLOAD_HOME", folder_.c_str(), 1);
  EXPECT_EQ(model_library(), std::vector<std::string>{"mine"});
  EXPECT_EQ(load_model(model_value("mine"), "").name, "mine");
  setenv("TRANSLOAD_HOME", (folder_ / "none").c_str(), 1);
  EXPECT_THAT(refusal([] { model_library(); }), HasSubstr("TRANSLOAD_HOME"));
}

TEST_F(LibraryFiles, PathsAreTriedBesideTheJob) {
  std::filesystem::copy(model_library_folder() + "/qwen3-30b-a3b.yaml", folder_ / "own.yaml");
  EXPECT_EQ(load_model(model_value("own.yaml"), folder_.string()).name, "own");
  EXPECT_EQ(load_model(model_value((folder_ / "own.yaml").string()), "").name, "own");
  EXPECT_THAT(refusal([&] { load_model(model_value("./none.yaml"), folder_.string()); }),
              HasSubstr("job.yaml:1: model: no file ./none.yaml"));
}

TEST_F(LibraryFiles, UnknownNamesSuggestTheNearest) {
  EXPECT_THAT(refusal([] { load_model(model_value("deepsek-v3"), ""); }),
              HasSubstr("did you mean deepseek-v3?"));
  EXPECT_THAT(refusal([] { load_library_model("qwen3-30b"); }),
              HasSubstr("did you mean qwen3-30b-a3b?"));
  EXPECT_THAT(refusal([] { load_model(model_value("[a, b]"), ""); }),
              HasSubstr("job.yaml:1: model: expected text"));
}

TEST_F(LibraryFiles, HuggingFaceFilesAreImported) {
  std::ofstream(folder_ / "config.json") << R"({"model_type": "qwen3_moe", "hidden_size": 2048})";
  EXPECT_THAT(refusal([&] { load_model(model_value("config.json"), folder_.string()); }),
              HasSubstr("torch_dtype"));
}

constexpr const char* kGood = R"(family: qwen3_moe
dtype: bf16
sources: [made up]
hyper_parameters:
  hidden_size: 64
  num_hidden_layers: 4
  num_attention_heads: 16
  num_key_value_heads: 4
  head_dim: 8
  moe_intermediate_size: 48
  num_experts: 12
  vocab_size: 1000
published:
  parameters: 1000
  counts: [main]
  source: made up
)";

struct BadFile {
  const char* from;
  const char* to;
  const char* message;
};

constexpr BadFile kBadFiles[] = {
    {"family: qwen3_moe", "family: qwen3moe", "bad.yaml:1: family: expected one of"},
    {"family: qwen3_moe\n", "", "the key family is missing"},
    {"dtype: bf16", "dtype: bf61", "bad.yaml:2: dtype: expected a dtype"},
    {"sources: [made up]", "sources: []", "bad.yaml:3: sources: expected at least one source"},
    {"  head_dim: 8\n", "", "hyper_parameters: the key head_dim is missing"},
    {"head_dim: 8", "head_dim: 0",
     "bad.yaml:9: hyper_parameters.head_dim: expected a whole number"},
    {"head_dim: 8", "head_dim: -8", "from 1 to 4096, found -8"},
    {"head_dim: 8", "head_dim: 8.5", "expected a whole number, found 8.5"},
    {"hidden_size: 64", "hidden_size: 999999999999", "hyper_parameters.hidden_size: expected"},
    {"hidden_size: 64", "hiden_size: 64", "the key hidden_size is missing"},
    {"num_key_value_heads: 4", "num_key_value_heads: 5",
     "bad.yaml:8: hyper_parameters.num_key_value_heads: 5 KV heads do not divide the 16 query "
     "heads"},
    {"vocab_size: 1000", "vocab_size: 1000\n  q_lora_rank: 3", "q_lora_rank: unknown key"},
    {"num_experts: 12", "num_experts: 65536\n  num_hidden_layers: 2000",
     "num_hidden_layers: the key stands twice"},
    {"counts: [main]", "counts: [main, main]", "published.counts[1]: main stands twice"},
    {"counts: [main]", "counts: [mian]", "did you mean main?"},
    {"dtype: bf16", "dtype: bf16\nhubid: a/b", "hubid: unknown key (did you mean hub_id?)"},
    {"dtype: bf16", "dtype: bf16\nunverified: 3", "bad.yaml:3: unverified: expected a list"},
    {"counts: [main]", "counts: []", "expected at least one part"},
    {"  source: made up", "  source: made up\n  known_difference: 3", "needs a note"},
    {"published:", "publishd:", "unknown key (did you mean published?)"},
};

TEST(LibraryBadFiles, NameFileLineAndField) {
  ASSERT_EQ(refusal([] { read_model(YamlValue::from_text(kGood, "bad.yaml"), "x"); }), "");
  for (const BadFile& bad : kBadFiles) {
    std::string text = kGood;
    const std::size_t place = text.find(bad.from);
    ASSERT_NE(place, std::string::npos) << bad.from;
    text.replace(place, std::string(bad.from).size(), bad.to);
    EXPECT_THAT(refusal([&] { read_model(YamlValue::from_text(text, "bad.yaml"), "x"); }),
                HasSubstr(bad.message))
        << bad.to;
  }
}

TEST(LibraryBadFiles, AListTooLongForMemoryIsRefused) {
  std::string text = kGood;
  text.replace(text.find("num_experts: 12"), 15, "num_experts: 65536");
  text.replace(text.find("num_hidden_layers: 4"), 20, "num_hidden_layers: 2000");
  EXPECT_THAT(refusal([&] { read_model(YamlValue::from_text(text, "bad.yaml"), "x"); }),
              HasSubstr("hyper_parameters: 2000 sparse layers of 65536 experts"));
}

TEST(LibraryBadFiles, PredictionLayersMustSayWhetherTheyStoreCopies) {
  const char* text = R"(
family: deepseek_v3
dtype: bf16
sources: [made up]
hyper_parameters: {hidden_size: 64, num_hidden_layers: 2, first_k_dense_replace: 3,
  intermediate_size: 96, moe_intermediate_size: 32, n_routed_experts: 12, n_shared_experts: 2,
  num_attention_heads: 8, q_lora_rank: 24, kv_lora_rank: 16, qk_nope_head_dim: 6,
  qk_rope_head_dim: 2, v_head_dim: 4, vocab_size: 1000, num_nextn_predict_layers: 1}
)";
  const auto message = [](const std::string& yaml) {
    return refusal([&] { read_model(YamlValue::from_text(yaml, "bad.yaml"), "x"); });
  };
  std::string changed = text;
  EXPECT_THAT(message(changed), HasSubstr("first_k_dense_replace: 3 dense layers are more than"));
  changed.replace(changed.find("replace: 3"), 10, "replace: 1");
  EXPECT_THAT(message(changed), HasSubstr("the key mtp_stores_copies is missing"));
  changed.replace(changed.find("layers: 1}"), 10, "layers: 0}");
  EXPECT_EQ(message(changed), "");
}

}  // namespace
}  // namespace transload
