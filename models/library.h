// The model library: models/*.yaml, one file per published model.
//
// A model file names a family (models/families), the hyper-parameters under the keys of the Hugging
// Face config.json, the sources they were read from, and the published total that our derived
// parameter list is compared with. Adding a model of a known family is adding a file.
#pragma once

#include <string>
#include <vector>

#include "common/yaml.h"
#include "models/model.h"

namespace transload {

// Names of the library's entries, sorted ("deepseek-v3", "qwen3-30b-a3b").
std::vector<std::string> model_library();
// $TRANSLOAD_HOME/models, or the models/ folder of the sources that this program was built from.
std::string model_library_folder();

// The `model:` value of a job: a library name, or a path to a model YAML of the library's form, a
// Hugging Face config.json or a safetensors index (models/importers). Relative paths are tried from
// `base_folder`, then as they stand. InputError for anything else, with the nearest known name.
Model load_model(const YamlValue& value, const std::string& base_folder);
Model load_library_model(const std::string& name);

// One model file. `name` stands where the file does not name the model itself.
Model read_model(const YamlValue& value, const std::string& name);
Model load_model_file(const std::string& path);

}  // namespace transload
