// A Hugging Face config.json as a model: which family it is, its hyper-parameters by the family's
// own reading, and what else it says.
#pragma once

#include <map>
#include <string>

#include "common/yaml.h"
#include "models/importers/importers.h"

namespace transload::importing {

struct ConfigModel {
  Model model;
  std::string yaml;            // the model file
  std::string stored_format;   // of a quantised checkpoint: a name of models/quantised.h, or empty
  std::string quantised_note;  // how the config puts it; empty: not quantised
};

// `answers`: what only the checkpoint tells, as hyper-parameters by name; those of
// `options.set` come first. Appends sentences to `imported`. InputError: an architecture without a
// family, two that disagree, parameters that the family has no form for, an open question.
ConfigModel read_config(const YamlValue& root, const ImportOptions& options,
                        const std::map<std::string, std::string>& answers, Imported& imported);

// "org/Qwen3-8B/config.json" and "Qwen3-8B.config.json" -> "qwen3-8b".
std::string model_name_of(const std::string& path);

}  // namespace transload::importing
