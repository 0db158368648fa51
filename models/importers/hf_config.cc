#include "models/importers/hf_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>

#include "common/error.h"
#include "models/families/families.h"
#include "models/importers/architectures.h"
#include "models/importers/readers.h"
#include "models/importers/side_text.h"

namespace transload::importing {
namespace {

namespace fs = std::filesystem;

// What the config calls itself, once per way of saying it.
struct Naming {
  std::vector<const Architecture*> by_architecture;
  std::vector<const Architecture*> by_type;
  std::string architecture;
  std::string type;
};

std::string known_architectures() {
  std::vector<std::string_view> names;
  for (const Architecture& row : architectures())
    if (!row.family.empty() &&
        std::find(names.begin(), names.end(), row.architecture) == names.end())
      names.push_back(row.architecture);
  return fmt::format("{}", fmt::join(names, ", "));
}

Naming read_naming(YamlMap& map) {
  Naming naming;
  if (const auto list = map.optional("architectures"); list && !list->is_null()) {
    const std::vector<YamlValue> names = list->list();
    if (names.size() > 1) list->fail("more than one architecture; expected one");
    if (!names.empty()) naming.architecture = names[0].text();
  }
  if (const auto type = map.optional("model_type"); type && !type->is_null())
    naming.type = type->text();
  for (const Architecture& row : architectures()) {
    if (row.architecture == naming.architecture) naming.by_architecture.push_back(&row);
    if (row.model_type == naming.type) naming.by_type.push_back(&row);
  }
  return naming;
}

const Family& family_called(const std::string& name, const YamlMap& map) {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) {
    if (family.name == name) return family;
    names.push_back(family.name);
  }
  map.fail(fmt::format("no family is called {}; known are {}", name, fmt::join(names, ", ")));
}

std::string reading(const Architecture& row) {
  if (row.family.empty()) return fmt::format("no family here ({})", row.why);
  return fmt::format("family {}", row.family);
}

const Family& choose_family(YamlMap& map, const ImportOptions& options, Imported& imported) {
  const Naming naming = read_naming(map);
  if (!options.family.empty()) {
    imported.understood.push_back(fmt::format("family {}: as told", options.family));
    return family_called(options.family, map);
  }
  const Architecture* one = naming.by_architecture.empty() ? nullptr : naming.by_architecture[0];
  const Architecture* other = naming.by_type.empty() ? nullptr : naming.by_type[0];
  if (one != nullptr && other != nullptr && one->family != other->family)
    map.fail(fmt::format("architectures says {}, {}; model_type says {}, {}; --family decides",
                         naming.architecture, reading(*one), naming.type, reading(*other)));
  // A class that is not known may be anything, a classifier for one, whatever its model_type.
  const Architecture* chosen = naming.architecture.empty() ? other : one;
  const std::string written = naming.architecture.empty() ? naming.type : naming.architecture;
  if (chosen == nullptr)
    map.fail(fmt::format("{}; known are {}",
                         written.empty() ? "neither architectures nor model_type says what it is"
                                         : fmt::format("{} is not a known architecture", written),
                         known_architectures()));
  if (chosen->family.empty())
    map.fail(fmt::format("{} is not modelled: {}; modelled are {}", written, chosen->why,
                         known_architectures()));
  // DeepSeek-V2's routers have no bias, which the family tells by this key.
  if (chosen->model_type == "deepseek_v2" && !map.has("topk_method"))
    map.fail("the key topk_method is missing; it decides whether routers have a bias");
  imported.understood.push_back(fmt::format("{}: family {}", written, chosen->family));
  return family_called(std::string(chosen->family), map);
}

// Looking a key up in a mutable node would make it.
YAML::Node looked_up(const YAML::Node& keys, const std::string& key) { return keys[key]; }

// The language model's keys: those of text_config where there is one, with what stands beside it.
// Nodes keep their place in the file.
YAML::Node language_keys(const YamlValue& root) {
  const YAML::Node& outer = root.node();
  YAML::Node keys(YAML::NodeType::Map);
  const YAML::Node text = outer["text_config"];
  const bool nested = text && text.IsMap();
  for (const auto& pair : nested ? text : outer) keys.force_insert(pair.first, pair.second);
  if (nested)
    for (const char* key : {"vision_config", "tie_word_embeddings", "quantization_config"})
      if (outer[key] && !looked_up(keys, key)) keys.force_insert(std::string(key), outer[key]);
  return keys;
}

void add_aliases(YAML::Node& keys, const Family& family, Imported& imported) {
  for (const Alias& alias : aliases()) {
    const std::string key(alias.key);
    const std::string also(alias.also);
    const YAML::Node other = looked_up(keys, also);
    if (alias.family != family.name || looked_up(keys, key) || !other) continue;
    keys.force_insert(key, other);
    keys.remove(also);
    imported.understood.push_back(fmt::format("{} read as {}", also, key));
  }
}

// Answers become keys like the others; one that contradicts the config is refused.
void add_answers(YAML::Node& keys, const std::map<std::string, std::string>& answers,
                 const std::string& file) {
  for (const auto& [key, value] : answers) {
    const YAML::Node stated = looked_up(keys, key);
    if (!stated) {
      keys.force_insert(key, value);
      continue;
    }
    const std::string text = stated.IsScalar() ? stated.Scalar() : "a map or list";
    if (text != value)
      throw InputError({file, 0, key},
                       fmt::format("the config says {}, the answer {}", text, value));
  }
}

bool positive(const YAML::Node& node) {
  return node && node.IsScalar() && node.Scalar() != "0" && node.Scalar() != "null";
}

// Experts that are stored packed only matter where there are experts.
bool arises(const Question& question, const YAML::Node& keys) {
  if (!positive(keys[std::string(question.when)])) return false;
  return question.key != "mtp_stores_packed_experts" || positive(keys["num_experts"]);
}

void ask(const YAML::Node& keys, const Family& family, const std::string& file) {
  for (const Question& question : questions())
    if (question.family == family.name && arises(question, keys) &&
        !keys[std::string(question.key)])
      throw InputError(
          {file, 0, std::string(question.key)},
          fmt::format(
              "a config does not say {}; answer with --set {}={}{}", question.text, question.key,
              question.answer,
              question.from_names ? ", or import the model.safetensors.index.json beside it" : ""));
}

std::string shown(const YAML::Node& node) {
  if (node.IsNull()) return "absent";
  if (node.IsScalar()) return node.Scalar();
  if (node.IsSequence() && node.size() == 0) return "[]";
  return node.IsMap() ? "a map" : "a list";
}

// Keys that the family did not read and that would change what it lists.
void refuse_harmful(const YAML::Node& keys, const std::vector<std::string>& unread,
                    const Family& family, const YamlValue& root) {
  for (const HarmlessValue& row : harmless_values()) {
    const std::string key(row.key);
    if (std::find(unread.begin(), unread.end(), key) == unread.end()) continue;
    std::string value = shown(keys[key]);
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (value == "absent" || value == row.value) continue;
    InputPlace place = root.place();
    place.line = keys[key].Mark().line + 1;
    place.field = key;
    throw InputError(place, fmt::format("{} would mean {}, which the family {} has no form for",
                                        value, row.what, family.name));
  }
}

DType read_dtype(YamlMap& map, const YamlValue& root, const ImportOptions& options) {
  YamlMap outer = root.map();
  for (YamlMap* level : {&map, &outer})
    for (const char* key : {"torch_dtype", "dtype"}) {
      const auto value = level->optional(key);
      if (!value || value->is_null()) continue;
      const DType dtype = value->dtype();
      if (options.dtype && *options.dtype != dtype)
        value->fail(fmt::format("the config says {}, --dtype {}", dtype_name(dtype),
                                dtype_name(*options.dtype)));
      return dtype;
    }
  if (options.dtype) return *options.dtype;
  root.fail("neither torch_dtype nor dtype says what type the weights have; --dtype gives it");
}

// Which published format the config's quantization_config describes, if it is one of ours.
void read_quantisation(const YAML::Node& keys, ConfigModel& result, Imported& imported) {
  const YAML::Node config = keys["quantization_config"];
  if (!config || !config.IsMap()) return;
  const std::string method = config["quant_method"] && config["quant_method"].IsScalar()
                                 ? config["quant_method"].Scalar()
                                 : "an unnamed method";
  const YAML::Node block = config["weight_block_size"];
  const bool by_128 = block && block.IsSequence() && block.size() == 2 && block[0].IsScalar() &&
                      block[1].IsScalar() && block[0].Scalar() == "128" &&
                      block[1].Scalar() == "128";
  if (method == "fp8" && by_128) result.stored_format = "fp8-block128";
  if (method == "mxfp4") result.stored_format = "mxfp4";
  const YAML::Node experts = keys["expert_dtype"];
  if (result.stored_format == "fp8-block128" && experts && experts.IsScalar() &&
      experts.Scalar() == "fp4")
    result.stored_format = "mxfp4-fp8";
  result.quantised_note = method + (by_128 ? " in blocks of 128 x 128" : "");
  imported.understood.push_back(fmt::format(
      "the checkpoint is quantised ({}{}); parameters are listed in {}, as trainers hold them",
      result.quantised_note,
      result.stored_format.empty() ? "" : fmt::format(", here {}", result.stored_format),
      dtype_name(result.model.dtype)));
}

void explain_names(const YAML::Node& keys, const Naming& naming, const Family& family,
                   Imported& imported) {
  const bool conditional = naming.architecture.ends_with("ForConditionalGeneration");
  const YAML::Node vision = keys["vision_config"];
  if (family.name == "qwen35" && conditional && !vision)
    imported.asked.push_back(fmt::format(
        "names: {} has model.language_model. before its names, a text model model. only; without a "
        "vision_config they are listed as model.; the index beside the config would decide",
        naming.architecture));
}

// The hyper-parameters that the family read, as a model file writes them.
std::string model_yaml(const ConfigModel& result, const YAML::Node& keys,
                       const std::vector<std::string>& unread, const std::string& path) {
  std::string text = fmt::format("# Imported from {}.\nname: {}\nfamily: {}\ndtype: {}\n",
                                 fs::path(path).filename().string(), result.model.name,
                                 result.model.family, dtype_name(result.model.dtype));
  text += "hyper_parameters:\n";
  for (const auto& pair : keys) {
    const std::string key = pair.first.Scalar();
    if (pair.second.IsNull() || std::find(unread.begin(), unread.end(), key) != unread.end())
      continue;
    YAML::Emitter emitter;
    emitter.SetMapFormat(YAML::Flow);
    emitter.SetSeqFormat(YAML::Flow);
    YAML::Node value = YAML::Clone(pair.second);
    emitter << value;
    text += fmt::format("  {}: {}\n", key, emitter.c_str());
  }
  YAML::Emitter source;
  source << fs::path(path).lexically_normal().string();
  return text + fmt::format("sources:\n  - {}\n", source.c_str());
}

}  // namespace

std::string model_name_of(const std::string& path) {
  const fs::path file = fs::path(path).lexically_normal();
  std::string name = file.filename().string();
  for (const char* ending :
       {".config.json", ".model.safetensors.index.json", ".safetensors", ".json"})
    if (name.ends_with(ending)) {
      name.resize(name.size() - std::string_view(ending).size());
      break;
    }
  // A plain config.json is named by its folder.
  if (name == "config" || name == "model.safetensors.index" || name == "model")
    name = file.parent_path().filename().string();
  std::string clean;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    clean += std::isalnum(letter) != 0 || c == '.' || c == '-' || c == '_'
                 ? static_cast<char>(std::tolower(letter))
                 : '-';
  }
  return clean.empty() || clean == "." || clean == ".." ? "imported" : clean;
}

ConfigModel read_config(const YamlValue& root, const ImportOptions& options,
                        const std::map<std::string, std::string>& answers, Imported& imported) {
  YamlMap outer = root.map();
  const std::string file = root.place().file;
  const Family& family = choose_family(outer, options, imported);
  YAML::Node keys = language_keys(root);
  add_aliases(keys, family, imported);
  std::map<std::string, std::string> all = options.set;
  all.insert(answers.begin(), answers.end());
  add_answers(keys, all, file);
  ask(keys, family, file);

  const auto shared = std::make_shared<const std::string>(file);
  YamlMap hyper{YamlValue(keys, shared, "")};
  ConfigModel result;
  result.model.name = model_name_of(file);
  result.model.family = family.name;
  result.model.dtype = read_dtype(hyper, root, options);
  result.model.sources = {file};
  YamlMap read{YamlValue(keys, shared, "")};
  family.build(read, result.model);
  const std::vector<std::string> unread = read.unread();
  for (const auto& [key, value] : options.set)
    if (std::find(unread.begin(), unread.end(), key) != unread.end())
      throw InputError({file, 0, "--set " + key},
                       fmt::format("the family {} has no such hyper-parameter", family.name));
  refuse_harmful(keys, unread, family, root);

  imported.understood.push_back(fmt::format(
      "{} parameters in {} tensors, {}: {} layers{}{}", parameter_count(result.model),
      result.model.parameters.size(), dtype_name(result.model.dtype), result.model.layers,
      result.model.experts > 0 ? fmt::format(", {} experts", result.model.experts) : "",
      result.model.mtp_layers > 0
          ? ", " + counted(static_cast<std::size_t>(result.model.mtp_layers), "prediction layer")
          : ""));
  read_quantisation(keys, result, imported);
  explain_names(keys, read_naming(outer), family, imported);
  std::vector<std::string> rest;
  const std::set<std::string> named = {"architectures", "model_type", "torch_dtype", "dtype",
                                       "quantization_config"};
  for (const std::string& key : unread) {
    if (named.contains(key)) continue;
    if (key == "vision_config" || key == "audio_config")
      imported.ignored.push_back(
          fmt::format("{}: the family {} lists the language model only", key, family.name));
    else
      rest.push_back(key);
  }
  if (!rest.empty())
    imported.ignored.push_back(fmt::format("{} keys that change neither names nor shapes: {}",
                                           rest.size(), some_of(rest, 12)));
  result.yaml = model_yaml(result, keys, unread, file);
  return result;
}

Imported import_hf_config(const Source& source) {
  Imported imported;
  ConfigModel result =
      read_config(YamlValue::from_text(source.text, source.path), source.options, {}, imported);
  imported.model = std::move(result.model);
  imported.model_yaml = std::move(result.yaml);
  return imported;
}

}  // namespace transload::importing
