// Every model of the library, written as a config.json of its architecture, comes back as itself.
#include <nlohmann/json.hpp>

#include "common/yaml.h"
#include "models/library.h"
#include "tests/models/importers/importer_fixture.h"

namespace transload {
namespace {

nlohmann::json as_json(const YAML::Node& node) {
  if (node.IsNull()) return nullptr;
  if (node.IsSequence()) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& item : node) list.push_back(as_json(item));
    return list;
  }
  if (node.IsMap()) {
    nlohmann::json map = nlohmann::json::object();
    for (const auto& pair : node) map[pair.first.Scalar()] = as_json(pair.second);
    return map;
  }
  // Words stay text; numbers and truth values are JSON already.
  const nlohmann::json plain = nlohmann::json::parse(node.Scalar(), nullptr, false);
  return plain.is_number() || plain.is_boolean() ? plain : nlohmann::json(node.Scalar());
}

const std::map<std::string, std::string> kArchitectureOf = {
    {"bailing_v2", "BailingMoeV2ForCausalLM"},
    {"deepseek_v3", "DeepseekV3ForCausalLM"},
    {"deepseek_v4", "DeepseekV4ForCausalLM"},
    {"glm4_moe", "Glm4MoeForCausalLM"},
    {"gpt_oss", "GptOssForCausalLM"},
    {"kimi_k3", "KimiK3ForConditionalGeneration"},
    {"llama", "LlamaForCausalLM"},
    {"llama4", "Llama4ForConditionalGeneration"},
    {"minimax_m2", "MiniMaxM2ForCausalLM"},
    {"mixtral", "MixtralForCausalLM"},
    {"nemotron_h", "NemotronHForCausalLM"},
    {"qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "Qwen3ForCausalLM"},
    {"qwen35", "Qwen3_5MoeForConditionalGeneration"},
    {"qwen3_moe", "Qwen3MoeForCausalLM"},
};

class ImportLibrary : public ImporterTest {
 protected:
  // Of a config with everything in one map, or with the language model inside text_config.
  void expect_itself(const std::string& name, bool nested) const {
    YamlMap file = YamlValue::from_file(model_library_folder() + "/" + name + ".yaml").map();
    nlohmann::json keys = as_json(file.required("hyper_parameters").node());
    ImportOptions options;
    for (const char* own : {"mtp_stores_copies", "mtp_stores_packed_experts", "a_log_stored"})
      if (keys.contains(own)) {
        options.set[own] = keys[own].dump();
        keys.erase(own);
      }
    nlohmann::json config = {
        {"architectures", {kArchitectureOf.at(file.required("family").text())}}};
    if (nested && keys.contains("vision_config")) {
      config["vision_config"] = keys["vision_config"];
      keys.erase("vision_config");
    }
    keys["torch_dtype"] = "bfloat16";
    if (nested)
      config["text_config"] = keys;
    else
      config.update(keys);
    const Imported imported = import("config.json", config.dump(), options);
    ASSERT_TRUE(imported.model) << name;
    const Model model = load_library_model(name);
    EXPECT_EQ(imported.model->family, model.family) << name;
    ASSERT_EQ(imported.model->parameters.size(), model.parameters.size()) << name;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      ASSERT_EQ(imported.model->parameters[i].name, model.parameters[i].name) << name;
      ASSERT_EQ(imported.model->parameters[i].shape, model.parameters[i].shape) << name;
    }
  }
};

TEST_F(ImportLibrary, ComesBackFromConfigs) {
  for (const std::string& name : model_library()) expect_itself(name, false);
}

TEST_F(ImportLibrary, ComesBackFromNestedConfigs) {
  for (const char* name : {"qwen3.6-35b-a3b", "qwen3.8-27b", "llama-4-scout"})
    expect_itself(name, true);
}

TEST_F(ImportLibrary, NamesOfATextModelInAMultimodalClassAreAsked) {
  const char* text = R"({
    "architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5_text",
    "hidden_size": 32, "num_hidden_layers": 2, "full_attention_interval": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 48,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "linear_conv_kernel_dim": 4, "vocab_size": 100,
    "tie_word_embeddings": false, "dtype": "bfloat16"})";
  const Imported imported = import("config.json", text);
  EXPECT_THAT(joined(imported.asked), HasSubstr("model.language_model."));
  // A job has nobody to ask.
  EXPECT_THROW(import_model(path("config.json")), InputError);
  nlohmann::json map = nlohmann::json::object();
  for (const Parameter& parameter : imported.model->parameters) map[parameter.name] = "a";
  write("model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
  EXPECT_THAT(import_file(folder_.string()).asked, IsEmpty());
  EXPECT_EQ(import_model(path("model.safetensors.index.json")).parameters.size(), map.size());
}

}  // namespace
}  // namespace transload
