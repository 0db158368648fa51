// What a file is, by its content.
#include <fmt/format.h>

#include <algorithm>

#include "common/error.h"
#include "models/importers/json_reader.h"
#include "models/importers/readers.h"

namespace transload::importing {
namespace {

constexpr std::string_view kKnown =
    "a Hugging Face config.json, a safetensors index or file, Megatron arguments, a NeMo-RL "
    "recipe, "
    "vLLM or SGLang arguments, a Kubernetes manifest, a DTensor dump, an NCCL M2N model, system or "
    "layers file";

bool has_all(const Json& json, std::initializer_list<const char*> keys) {
  return std::all_of(keys.begin(), keys.end(), [&](const char* key) { return json.contains(key); });
}

bool is_tensor_table(const Json& json) {
  return !json.empty() && std::all_of(json.begin(), json.end(), [](const Json& entry) {
    return entry.is_object() && entry.contains("shape") && entry.contains("dtype");
  });
}

ImportKind kind_of_json(const std::string& text, const std::string& path) {
  const Json json = parse_json(text, path);
  if (!json.is_object()) throw InputError({path, 1, ""}, "expected a map at the top");
  if (json.contains("weight_map")) return ImportKind::kSafetensorsIndex;
  if (has_all(json, {"mesh", "parameters"})) return ImportKind::kDtensorDump;
  if (json.contains("train") || json.contains("generation")) return ImportKind::kM2nSystem;
  if (json.contains("default_tensors")) return ImportKind::kM2nLayers;
  if (json.contains("architectures") || json.contains("model_type")) return ImportKind::kHfConfig;
  if (is_tensor_table(json)) return ImportKind::kM2nModel;
  if (json.contains("tensors") || json.contains("topology"))
    throw InputError({path, 0, ""}, "this is a job already; transload plan reads it");
  if (json.contains("hyper_parameters"))
    throw InputError({path, 0, ""}, "this is a model file already; transload model show reads it");
  throw InputError({path, 0, ""},
                   fmt::format("no file that can be imported: its keys begin with {}; known are {}",
                               json.empty() ? "nothing" : json.begin().key(), kKnown));
}

// A line that begins with `word`, at the left margin.
bool has_line(const std::string& text, const std::string& word) {
  return text.starts_with(word) || text.find("\n" + word) != std::string::npos;
}

// "NCCL_IB_HCA=..." and the like on the first line that says anything.
bool is_nccl_environment(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const std::size_t first = line.find_first_not_of(" \t\r");
    at = end + 1;
    if (first == std::string::npos || line[first] == '#') continue;
    return line.compare(first, 5, "NCCL_") == 0 || line.compare(first, 12, "export NCCL_") == 0;
  }
  return false;
}

bool mentions(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

}  // namespace

ImportKind kind_of_text(const std::string& text, const std::string& path) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw InputError({path, 1, ""}, "the file is empty");
  if (text.find('\0') != std::string::npos)
    throw InputError({path, 0, ""},
                     fmt::format("binary data, and no safetensors header; known are {}", kKnown));
  if (text[first] == '{' || text[first] == '[') return kind_of_json(text, path);
  if (is_nccl_environment(text))
    throw InputError({path, 0, ""},
                     "NCCL settings: they hint at the topology (which NICs NCCL_IB_HCA names) and "
                     "say nothing of a model or of a layout; nothing to import here");
  if (has_line(text, "apiVersion:")) return ImportKind::kKubernetes;
  if (has_line(text, "hyper_parameters:"))
    throw InputError({path, 0, ""}, "this is a model file already; transload model show reads it");
  if (has_line(text, "tensors:") || has_line(text, "topology:"))
    throw InputError({path, 0, ""}, "this is a job already; transload plan reads it");
  if (has_line(text, "policy:")) return ImportKind::kNemoRlRecipe;
  if (mentions(text, {"vllm serve", "vllm.entrypoints", "sglang.launch_server", "sglang serve"}))
    return ImportKind::kServeArguments;
  if (mentions(text, {"-model-parallel-size", "--context-parallel-size",
                      "--expert-tensor-parallel-size"}))
    return ImportKind::kMegatronArguments;
  if (mentions(text, {"--tensor-parallel-size", "--tensor_parallel_size", "-tp ",
                      "-tp=", "--data-parallel-size", "--pipeline-parallel-size"}))
    return ImportKind::kServeArguments;
  throw InputError({path, 0, ""},
                   fmt::format("no file that can be imported; known are {}", kKnown));
}

}  // namespace transload::importing
