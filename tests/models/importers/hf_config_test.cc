// config.json: which family, whose keys, and what is refused rather than guessed.
#include "models/library.h"
#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

// Two layers of hidden size 64: per layer 2 x 64 (norms) + 64 x 64 x 2 (q, o) + 32 x 64 x 2 (k, v)
// + 2 x 16 (head norms) + 3 x 96 x 64 = 30,880 elements in 11 tensors; embedding and output layer
// 2 x 100 x 64, final norm 64: 74,624 in 25 tensors.
const std::string kQwen3 = R"({
  "architectures": ["Qwen3ForCausalLM"],
  "model_type": "qwen3",
  "attention_bias": false,
  "hidden_size": 64,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "num_key_value_heads": 2,
  "head_dim": 16,
  "intermediate_size": 96,
  "vocab_size": 100,
  "rope_theta": 10000.0,
  "tie_word_embeddings": false,
  "torch_dtype": "bfloat16"
})";

// One dense and two sparse layers of 4 experts, and one prediction layer.
const std::string kDeepseek = R"({
  "architectures": ["DeepseekV3ForCausalLM"],
  "model_type": "deepseek_v3",
  "hidden_size": 64, "num_hidden_layers": 3, "first_k_dense_replace": 1,
  "intermediate_size": 96, "moe_intermediate_size": 32, "moe_layer_freq": 1,
  "n_routed_experts": 4, "n_shared_experts": 1, "num_attention_heads": 4,
  "num_key_value_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
  "qk_rope_head_dim": 4, "v_head_dim": 8, "vocab_size": 100,
  "num_nextn_predict_layers": 1, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}
})";

class ImportConfig : public ImporterTest {};

TEST_F(ImportConfig, ModelByTheFamilysKeys) {
  const Imported imported = import("Tiny/config.json", kQwen3);
  EXPECT_EQ(imported.kind, ImportKind::kHfConfig);
  ASSERT_TRUE(imported.model);
  EXPECT_EQ(imported.model->name, "tiny");
  EXPECT_EQ(imported.model->family, "qwen3");
  EXPECT_EQ(imported.model->dtype, DType::kBF16);
  EXPECT_EQ(parameter_count(*imported.model), 74'624);
  EXPECT_EQ(imported.model->parameters.size(), 25u);
  EXPECT_THAT(joined(imported.ignored), HasSubstr("rope_theta"));
  EXPECT_THAT(joined(imported.ignored), Not(HasSubstr("hidden_size")));
  EXPECT_THAT(imported.asked, IsEmpty());
}

TEST_F(ImportConfig, ModelFileReadsBackTheSame) {
  const Imported imported = import("tiny.config.json", kQwen3);
  const Model again = load_model_file(write("back.yaml", import_text(imported)));
  EXPECT_EQ(again.name, "tiny");
  ASSERT_EQ(again.parameters.size(), imported.model->parameters.size());
  for (std::size_t i = 0; i < again.parameters.size(); ++i) {
    EXPECT_EQ(again.parameters[i].name, imported.model->parameters[i].name);
    EXPECT_EQ(again.parameters[i].shape, imported.model->parameters[i].shape);
  }
}

TEST_F(ImportConfig, JobsTakeAConfigAsTheirModel) {
  const std::string file = write("config.json", kQwen3);
  EXPECT_TRUE(is_importable_model(file));
  EXPECT_EQ(parameter_count(import_model(file)), 74'624);
  const YamlValue value(YAML::Node("config.json"), std::make_shared<const std::string>(), "model");
  EXPECT_EQ(parameter_count(load_model(value, folder_.string())), 74'624);
}

TEST_F(ImportConfig, AByteOrderMarkChangesNothing) {
  EXPECT_EQ(parameter_count(*import("a.json", "\xEF\xBB\xBF" + kQwen3).model), 74'624);
}

TEST_F(ImportConfig, ModelTypeAloneDecides) {
  const Imported imported =
      import("a.json", changed(kQwen3, R"("architectures": ["Qwen3ForCausalLM"],)", ""));
  EXPECT_EQ(imported.model->family, "qwen3");
}

TEST_F(ImportConfig, Qwen2HasBiases) {
  // 2 x (64 + 32 + 32) elements of biases more, 2 x 32 of head norms fewer.
  std::string text = changed(kQwen3, "Qwen3ForCausalLM", "Qwen2ForCausalLM");
  text = changed(changed(text, "\"qwen3\"", "\"qwen2\""), "\"attention_bias\": false,", "");
  const Imported imported = import("a.json", text);
  EXPECT_EQ(parameter_count(*imported.model), 74'624 + 256 - 64);
}

TEST_F(ImportConfig, TextConfigOfAModelWithMoreThanText) {
  const std::string inner = changed(
      changed(kQwen3, R"("architectures": ["Qwen3ForCausalLM"],)", ""), "\"qwen3\"", "\"x\"");
  const Imported imported = import(
      "a.json",
      R"({"architectures": ["Qwen3ForCausalLM"], "vision_config": {"depth": 2}, "text_config": )" +
          inner + "}");
  EXPECT_EQ(parameter_count(*imported.model), 74'624);
  EXPECT_THAT(joined(imported.ignored), HasSubstr("vision_config"));
}

TEST_F(ImportConfig, TypeOfWeights) {
  EXPECT_EQ(import("a.json", changed(kQwen3, "torch_dtype", "dtype")).model->dtype, DType::kBF16);
  const std::string without = changed(kQwen3, "torch_dtype", "other");
  EXPECT_THAT(refusal("b.json", without), HasSubstr("--dtype"));
  ImportOptions options;
  options.dtype = DType::kF16;
  EXPECT_EQ(import("c.json", without, options).model->dtype, DType::kF16);
  EXPECT_THAT(refusal("d.json", kQwen3, options), HasSubstr("the config says bf16, --dtype fp16"));
}

TEST_F(ImportConfig, WhatOnlyTheCheckpointTellsIsAsked) {
  EXPECT_THAT(refusal("a.json", kDeepseek),
              HasSubstr("answer with --set mtp_stores_copies=true or false"));
  ImportOptions options;
  options.set = {{"mtp_stores_copies", "true"}};
  const Imported with = import("a.json", kDeepseek, options);
  options.set["mtp_stores_copies"] = "false";
  const Imported without = import("a.json", kDeepseek, options);
  // Copies of the embedding and of the output layer, 100 x 64 each.
  EXPECT_EQ(parameter_count(*with.model) - parameter_count(*without.model), 12'800);
  EXPECT_THAT(joined(with.understood), HasSubstr("fp8-block128"));
  EXPECT_EQ(with.model->dtype, DType::kBF16);
  EXPECT_THAT(import_text(with), HasSubstr("mtp_stores_copies: true"));
}

TEST_F(ImportConfig, DeepSeekV2sRoutersHaveNoBias) {
  std::string text = changed(kDeepseek, "DeepseekV3ForCausalLM", "DeepseekV2ForCausalLM");
  text = changed(text, "\"deepseek_v3\"", "\"deepseek_v2\"");
  text = changed(text, "\"num_nextn_predict_layers\": 1,", "");
  EXPECT_THAT(refusal("a.json", text), HasSubstr("topk_method"));
  const auto biases = [&](const std::string& method) {
    const Imported imported =
        import("a.json", changed(text, "\"moe_layer_freq\"",
                                 "\"topk_method\": \"" + method + "\", \"moe_layer_freq\""));
    return std::count_if(
        imported.model->parameters.begin(), imported.model->parameters.end(),
        [](const Parameter& parameter) { return parameter.kind == ParameterKind::kRouterBias; });
  };
  EXPECT_EQ(biases("group_limited_greedy"), 0);
  EXPECT_EQ(biases("noaux_tc"), 2);
}

TEST_F(ImportConfig, NothingIsAskedWithoutPredictionLayers) {
  const Imported imported = import("a.json", changed(kDeepseek, "\"num_nextn_predict_layers\": 1",
                                                     "\"num_nextn_predict_layers\": 0"));
  EXPECT_EQ(imported.model->mtp_layers, 0);
}

TEST_F(ImportConfig, OtherWritersKeys) {
  const std::string text = changed(changed(kDeepseek, "n_routed_experts", "num_routed_experts"),
                                   "n_shared_experts", "num_shared_experts");
  ImportOptions options;
  options.set = {{"mtp_stores_copies", "false"}};
  const Imported imported = import("a.json", text, options);
  EXPECT_EQ(imported.model->experts, 4);
  EXPECT_THAT(joined(imported.understood),
              HasSubstr("num_routed_experts read as n_routed_experts"));
}

TEST_F(ImportConfig, TwoArchitecturesAreRefusedWithBothReadings) {
  const std::string text = changed(kQwen3, "\"qwen3\"", "\"llama\"");
  const std::string message = refusal("a.json", text);
  EXPECT_THAT(message, HasSubstr("architectures says Qwen3ForCausalLM, family qwen3"));
  EXPECT_THAT(message, HasSubstr("model_type says llama, family llama"));
  ImportOptions options;
  options.family = "llama";
  // Without head norms.
  EXPECT_EQ(parameter_count(*import("a.json", text, options).model), 74'624 - 64);
  options.family = "lama";
  EXPECT_THAT(refusal("a.json", text, options), HasSubstr("no family is called lama"));
}

struct Bad {
  const char* from;
  const char* to;
  const char* message;
};

constexpr Bad kBad[] = {
    {"\"num_hidden_layers\": 2,", "", "the key num_hidden_layers is missing"},
    {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": -2", "from 1 to"},
    {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": \"many\"", "num_hidden_layers: expected"},
    {"\"hidden_size\": 64", "\"hidden_size\": [64]", "hidden_size: expected a whole number"},
    {"\"vocab_size\": 100", "\"vocab_size\": 1e2", "vocab_size: expected a whole number"},
    {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", "3 KV heads do not divide"},
    {"\"head_dim\": 16,", "\"head_dim\": 16, \"head_dim\": 32,", "head_dim: the key stands twice"},
    {"bfloat16", "bfloat61", "expected a dtype"},
    {"\"rope_theta\": 10000.0", "\"num_nextn_predict_layers\": 1",
     ":12: num_nextn_predict_layers: 1 would mean prediction layers"},
    {"\"rope_theta\": 10000.0", "\"num_experts\": 8", "8 would mean experts"},
    {"\"rope_theta\": 10000.0", "\"kv_lora_rank\": 8", "latent attention"},
    {"\"tie_word_embeddings\": false", "\"tie_word_embeddings\": 3", "expected true or false"},
    {"[\"Qwen3ForCausalLM\"]", "[\"Qwen3ForCausalLM\", \"LlamaForCausalLM\"]", "more than one"},
    {"[\"Qwen3ForCausalLM\"]", "\"Qwen3ForCausalLM\"", "architectures: expected a list"},
};

TEST_F(ImportConfig, BadConfigs) {
  for (const Bad& bad : kBad) {
    const std::string message = refusal("bad.json", changed(kQwen3, bad.from, bad.to));
    EXPECT_THAT(message, HasSubstr(bad.message)) << bad.to;
    EXPECT_THAT(message, HasSubstr("bad.json")) << bad.to;
  }
}

TEST_F(ImportConfig, UnknownArchitecturesNameTheKnown) {
  std::string text = changed(kQwen3, "Qwen3ForCausalLM", "Qwen3ForSequenceClassification");
  EXPECT_THAT(refusal("a.json", text), HasSubstr("Qwen3ForSequenceClassification is not a known"));
  text = changed(kQwen3, "Qwen3ForCausalLM", "PhoenixForCausalLM");
  text = changed(text, "\"qwen3\"", "\"phoenix\"");
  EXPECT_THAT(refusal("a.json", text), HasSubstr("PhoenixForCausalLM is not a known architecture"));
  EXPECT_THAT(refusal("a.json", text), HasSubstr("GptOssForCausalLM"));
  text = changed(kQwen3, "Qwen3ForCausalLM", "Qwen3NextForCausalLM");
  text = changed(text, "\"qwen3\"", "\"qwen3_next\"");
  EXPECT_THAT(refusal("a.json", text), HasSubstr("in_proj_qkvz"));
}

TEST_F(ImportConfig, AnswersThatContradictOrMeanNothing) {
  ImportOptions options;
  options.set = {{"head_dim", "32"}};
  EXPECT_THAT(refusal("a.json", kQwen3, options), HasSubstr("the config says 16, the answer 32"));
  options.set = {{"heads", "32"}};
  EXPECT_THAT(refusal("a.json", kQwen3, options), HasSubstr("has no such hyper-parameter"));
}

TEST_F(ImportConfig, CutAnywhere) {
  for (std::size_t length = 1; length + 1 < kQwen3.size(); length += 37)
    EXPECT_THAT(refusal("cut.json", kQwen3.substr(0, length)), HasSubstr("is the file cut?"))
        << length;
}

}  // namespace
}  // namespace transload
