#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "common/error.h"
#include "common/text_file.h"
#include "models/importers/hf_config.h"
#include "models/importers/importers.h"
#include "models/importers/json_reader.h"
#include "models/importers/readers.h"

namespace transload {
namespace {

namespace fs = std::filesystem;
using importing::Source;

constexpr std::int64_t kMostText = 256 << 20;  // the index of a model of a million tensors

struct Importer {
  ImportKind kind;
  std::string_view name;
  Imported (*read)(const Source& source);
};

constexpr std::array kImporters = {
    Importer{ImportKind::kHfConfig, "Hugging Face config", importing::import_hf_config},
    Importer{ImportKind::kSafetensorsIndex, "safetensors index",
             importing::import_safetensors_index},
    Importer{ImportKind::kSafetensorsFile, "safetensors file", nullptr},
    Importer{ImportKind::kMegatronArguments, "Megatron arguments", importing::import_megatron},
    Importer{ImportKind::kNemoRlRecipe, "NeMo-RL recipe", importing::import_nemo_rl},
    Importer{ImportKind::kServeArguments, "vLLM or SGLang arguments", importing::import_serve},
    Importer{ImportKind::kKubernetes, "Kubernetes manifest", importing::import_kubernetes},
    Importer{ImportKind::kDtensorDump, "DTensor dump", importing::import_dtensor_dump},
    Importer{ImportKind::kM2nModel, "NCCL M2N model", importing::import_m2n_model},
    Importer{ImportKind::kM2nSystem, "NCCL M2N system", importing::import_m2n_system},
    Importer{ImportKind::kM2nLayers, "NCCL M2N layers", importing::import_m2n_layers},
};
static_assert(kImporters.size() == kImportKindCount);

const Importer& importer_of(ImportKind kind) { return kImporters[static_cast<std::size_t>(kind)]; }

void check_options(const ImportOptions& options) {
  if (options.role != "source" && options.role != "destination")
    throw InputError({"", 0, "--side"},
                     fmt::format("expected source or destination, found {}", options.role));
  if (options.first_rank < 0 || options.first_rank > (1 << 20))
    throw InputError({"", 0, "--first-rank"},
                     fmt::format("expected 0 to {}, found {}", 1 << 20, options.first_rank));
}

// Options that the kind of file has no use for would be lost without a word.
void refuse_idle_options(const ImportOptions& options, ImportKind kind, const std::string& path) {
  const auto refuse = [&](bool given, const char* option, std::initializer_list<ImportKind> kinds) {
    if (!given || std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return;
    throw InputError({path, 0, option},
                     fmt::format("says nothing about a {}", import_kind_name(kind)));
  };
  using enum ImportKind;
  refuse(!options.set.empty(), "--set",
         {kHfConfig, kSafetensorsIndex, kSafetensorsFile, kNemoRlRecipe});
  refuse(!options.family.empty(), "--family", {kHfConfig, kSafetensorsIndex, kSafetensorsFile});
  refuse(options.dtype.has_value(), "--dtype",
         {kHfConfig, kSafetensorsIndex, kSafetensorsFile, kDtensorDump, kM2nLayers});
  refuse(options.role != "source", "--side", {kDtensorDump});
  refuse(options.first_rank != 0, "--first-rank", {kDtensorDump});
  refuse(!options.system.empty(), "--system", {kM2nModel, kM2nLayers});
  refuse(options.launch.has_value(), "--launch", {kServeArguments});
}

// A folder stands for the checkpoint in it.
std::string file_in(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  for (const char* name : {"model.safetensors.index.json", "model.safetensors", "config.json"})
    if (fs::is_regular_file(fs::path(path) / name, error)) return (fs::path(path) / name).string();
  throw InputError(
      {path, 0, ""},
      "a folder without model.safetensors.index.json, model.safetensors or config.json");
}

}  // namespace

std::string_view import_kind_name(ImportKind kind) { return importer_of(kind).name; }

Imported import_file(const std::string& given, const ImportOptions& options) {
  check_options(options);
  const std::string path = file_in(given);
  Imported imported;
  if (importing::is_safetensors(path)) {
    refuse_idle_options(options, ImportKind::kSafetensorsFile, path);
    imported = importing::import_safetensors_file(path, options);
    imported.kind = ImportKind::kSafetensorsFile;
  } else {
    const std::string text = read_text_file(path, kMostText);
    const ImportKind kind = importing::kind_of_text(text, path);
    refuse_idle_options(options, kind, path);
    imported = importer_of(kind).read({path, text, options});
    imported.kind = kind;
  }
  imported.path = path;
  return imported;
}

bool is_importable_model(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) ||
      fs::file_size(path, error) > static_cast<std::uintmax_t>(kMostText))
    return false;
  const std::string text = read_text_file(path, kMostText);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return false;
  for (const char* key : {"\"weight_map\"", "\"architectures\"", "\"model_type\""})
    if (text.find(key) != std::string::npos) return true;
  return false;
}

Model import_model(const std::string& path) {
  const std::string text = read_text_file(path, kMostText);
  const ImportKind kind = importing::kind_of_text(text, path);
  if (kind == ImportKind::kSafetensorsIndex) return importing::model_of_index(text, path);
  if (kind != ImportKind::kHfConfig)
    throw InputError({path, 0, ""},
                     fmt::format("a {}; a job's model is a library name, a model file, a "
                                 "config.json or a model.safetensors.index.json",
                                 import_kind_name(kind)));
  Imported unread;
  Model model = importing::read_config(YamlValue::from_text(text, path), {}, {}, unread).model;
  if (!unread.asked.empty()) throw InputError({path, 0, ""}, unread.asked[0]);
  return model;
}

}  // namespace transload
