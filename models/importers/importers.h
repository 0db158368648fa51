// Reading what users already have: checkpoints' configs and indexes, launch scripts, recipes and
// layout dumps, turned into a model or into one or both sides of a job.
//
// `import_file` looks at the content of a file, not at its name, to tell what it is, and returns
// plain data: a model, sides of a whole-model job, or tensors of a tensor job, beside three lists
// of sentences. `understood` says what was taken from the file, `ignored` what was not and why,
// `asked` what a job still needs and the file does not say. Nothing is guessed: where a file can
// be read in two ways it is refused with both. docs/import.md lists the formats.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/model.h"
#include "models/sharding.h"

namespace transload {

enum class ImportKind : std::uint8_t {
  kHfConfig,           // config.json of a Hugging Face model
  kSafetensorsIndex,   // model.safetensors.index.json
  kSafetensorsFile,    // one *.safetensors
  kMegatronArguments,  // --tensor-model-parallel-size ..., also inside a shell script
  kNemoRlRecipe,
  kServeArguments,  // vLLM or SGLang launch lines
  kKubernetes,      // manifests whose containers launch vLLM or SGLang
  kDtensorDump,
  kM2nModel,   // NCCL M2N: name -> shape, dtype
  kM2nSystem,  // NCCL M2N: parallel sizes of both sides
  kM2nLayers,  // NCCL M2N: tensors with the dimensions that tp and ep cut
};

inline constexpr int kImportKindCount = static_cast<int>(ImportKind::kM2nLayers) + 1;

// "Hugging Face config", ...
std::string_view import_kind_name(ImportKind kind);

// One side of a whole-model job, as far as a file says it.
struct ImportedSide {
  std::string role;    // "source" or "destination"
  std::string engine;  // as jobs write it: "megatron"
  std::string origin;  // where in the file: "line 3"
  std::string model;   // as the file names it; empty: it does not
  std::optional<std::int64_t> gpus;
  // Keys of the job's `parallel:` in the order to print; sizes that were not said are absent.
  std::vector<std::pair<std::string, std::int64_t>> parallel;
  // Further keys of the side and their values, as YAML: {"vocab_divisor", "64"}.
  std::vector<std::pair<std::string, std::string>> settings;
  std::string pp_layout;  // the job's value, as YAML; empty: none
  std::string nodes;      // the job's value; empty: any
  std::string dtype;      // the job's word, of the side's weights; empty: not said
};

// One tensor of a tensor job. A side that the file does not describe is empty.
struct ImportedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::optional<DType> dtype;
  std::optional<Sharding> source;
  std::optional<Sharding> destination;
};

struct Imported {
  ImportKind kind = ImportKind::kHfConfig;
  std::string path;
  std::vector<std::string> understood;
  std::vector<std::string> ignored;
  std::vector<std::string> asked;

  std::optional<Model> model;
  std::string model_yaml;  // a model file of the library's form, where `model` came out
  std::vector<ImportedSide> sides;
  std::vector<ImportedTensor> tensors;
};

// Answers to what files leave open.
struct ImportOptions {
  // Hyper-parameters that no config states: {"mtp_stores_copies", "true"}.
  std::map<std::string, std::string> set;
  std::string family;           // decides where a config names two architectures
  std::optional<DType> dtype;   // where no file states one
  std::string role = "source";  // of a dump of one layout: source or destination
  std::int64_t first_rank = 0;  // added to the ranks of a dump
  std::string system;           // M2N: path of the system JSON beside a model or layers JSON
  std::optional<int> launch;    // which one of several launch lines, from 1
};

// InputError (file, line or field, what was found and expected) for files that are cut, of an
// unknown kind, contradict themselves, or describe what this version has no form for.
Imported import_file(const std::string& path, const ImportOptions& options = {});

// The `model:` value of a job: a config.json, or a model.safetensors.index.json (with the config or
// the headers beside it, both compared). Stricter than import_file, whose sentences nobody would
// read here: names that the index lacks or has beyond the family's list are errors.
Model import_model(const std::string& path);

// True if the file's content is one that import_model takes.
bool is_importable_model(const std::string& path);

// What `transload model import -o` writes: the model file, or the part of a job that the import
// gives, with comments where something is asked. InputError where several launches compete for one
// side.
std::string import_text(const Imported& imported);

}  // namespace transload
