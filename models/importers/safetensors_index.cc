// model.safetensors.index.json: names and files of a checkpoint's tensors, held against the headers
// of those files and against the list that the config.json beside it gives.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "common/error.h"
#include "common/text_file.h"
#include "models/importers/hf_config.h"
#include "models/importers/json_reader.h"
#include "models/importers/readers.h"
#include "models/importers/safetensors.h"
#include "models/importers/side_text.h"
#include "models/quantised.h"

namespace transload::importing {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxConfig = 4 << 20;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 53;

struct Checkpoint {
  std::string path;                             // of the index, or of the only file
  std::map<std::string, std::string> file_of;   // by tensor
  std::int64_t total_size = -1;                 // -1: not said
  std::map<std::string, HeaderTensor> headers;  // empty: the files are not there
};

// The config.json of a checkpoint: beside it, or with the same name before the ending.
std::string config_beside(const std::string& path) {
  const fs::path file(path);
  const std::string name = file.filename().string();
  std::error_code error;
  for (const std::string ending : {".model.safetensors.index.json", ".safetensors"}) {
    if (!name.ends_with(ending)) continue;
    const fs::path twin =
        file.parent_path() / (name.substr(0, name.size() - ending.size()) + ".config.json");
    if (fs::is_regular_file(twin, error)) return twin.string();
  }
  const fs::path plain = file.parent_path() / "config.json";
  return fs::is_regular_file(plain, error) ? plain.string() : "";
}

Checkpoint read_index(const std::string& text, const std::string& path) {
  const Json json = parse_json(text, path);
  const JsonPlace root(json, path, "");
  Checkpoint checkpoint;
  checkpoint.path = path;
  if (root.has("metadata") && root.at("metadata").has("total_size"))
    checkpoint.total_size = root.at("metadata").at("total_size").integer_in(0, kMaxBytes);
  const JsonPlace map = root.at("weight_map");
  map.require_object();
  for (const auto& item : map.value().items()) {
    const std::string file = map.at(item.key()).text();
    if (file.empty() || file.find('/') != std::string::npos || file == "." || file == "..")
      map.at(item.key())
          .fail(fmt::format("expected the name of a file in this folder, found {}", file));
    checkpoint.file_of[item.key()] = file;
  }
  if (checkpoint.file_of.empty()) map.fail("expected at least one tensor");
  return checkpoint;
}

// All files of the index or none: a part of them proves nothing about the rest.
void read_headers(Checkpoint& checkpoint, Imported& imported) {
  std::map<std::string, std::vector<std::string>> tensors_of;
  for (const auto& [tensor, file] : checkpoint.file_of) tensors_of[file].push_back(tensor);
  const fs::path folder = fs::path(checkpoint.path).parent_path();
  std::vector<std::string> missing;
  std::error_code error;
  for (const auto& [file, tensors] : tensors_of)
    if (!fs::is_regular_file(folder / file, error)) missing.push_back(file);
  if (missing.size() == tensors_of.size()) return;
  if (!missing.empty())
    throw InputError({checkpoint.path, 0, ""},
                     fmt::format("{} of its {} files are missing: {}", missing.size(),
                                 tensors_of.size(), some_of(missing, 3)));
  for (const auto& [file, tensors] : tensors_of) {
    const std::string path = (folder / file).string();
    std::map<std::string, HeaderTensor> header = read_safetensors_header(path);
    for (const std::string& tensor : tensors)
      if (!header.contains(tensor))
        throw InputError({path, 0, tensor}, "the index puts this tensor here; the header lacks it");
    for (auto& [name, tensor] : header) {
      const auto indexed = checkpoint.file_of.find(name);
      if (indexed == checkpoint.file_of.end() || indexed->second != file)
        throw InputError({path, 0, name},
                         "the header has this tensor; the index does not put it "
                         "here");
      checkpoint.headers.emplace(name, std::move(tensor));
    }
  }
  imported.understood.push_back(
      fmt::format("headers of {} files: names, shapes and types of {} tensors; no data read",
                  tensors_of.size(), checkpoint.headers.size()));
}

// What the config leaves open and names settle.
std::map<std::string, std::string> answers_of(const Checkpoint& checkpoint) {
  std::map<std::string, std::string> answers;
  bool packed = false;
  bool single = false;
  bool prediction = false;
  bool copies = false;
  for (const auto& [name, file] : checkpoint.file_of) {
    packed = packed || name.starts_with("mtp.layers.0.mlp.experts.gate_up_proj");
    single = single || name.starts_with("mtp.layers.0.mlp.experts.0.");
    prediction = prediction || name.ends_with(".shared_head.norm.weight");
    copies = copies || name.ends_with(".shared_head.head.weight");
  }
  if (packed != single) answers["mtp_stores_packed_experts"] = packed ? "true" : "false";
  if (prediction) answers["mtp_stores_copies"] = copies ? "true" : "false";
  return answers;
}

// A tensor that the config says the checkpoint has.
struct Expected {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kBF16;
  std::size_t parameter = 0;
  bool plain = true;
};

std::map<std::string, Expected> expected_tensors(const ConfigModel& config) {
  std::map<std::string, Expected> expected;
  if (config.stored_format.empty()) {
    for (std::size_t i = 0; i < config.model.parameters.size(); ++i) {
      const Parameter& parameter = config.model.parameters[i];
      expected[parameter.name] = {parameter.shape, parameter.dtype, i, true};
    }
    return expected;
  }
  for (const StoredTensor& tensor :
       quantised_tensors(config.model, quantised_format(config.stored_format)))
    expected[tensor.name] = {tensor.shape, tensor.dtype, tensor.parameter,
                             tensor.role == TensorRole::kPlain};
  return expected;
}

std::int64_t bytes_of(const std::vector<std::int64_t>& shape, DType dtype) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements * dtype_bits(dtype) / 8;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text.empty() ? "a scalar" : text;
}

// Names one by one; returns those that the family does not list.
std::vector<std::string> compare_names(const Checkpoint& checkpoint,
                                       const std::map<std::string, Expected>& expected,
                                       const std::string& family) {
  std::vector<std::string> missing;
  std::vector<std::string> extra;
  for (const auto& [name, tensor] : expected)
    if (!checkpoint.file_of.contains(name)) missing.push_back(name);
  for (const auto& [name, file] : checkpoint.file_of)
    if (!expected.contains(name)) extra.push_back(name);
  if (!missing.empty())
    throw InputError(
        {checkpoint.path, 0, ""},
        fmt::format("{} of the {} tensors that the config and the family {} give are missing: "
                    "{}{}",
                    missing.size(), expected.size(), family, some_of(missing, 3),
                    extra.empty() ? ""
                                  : fmt::format("; {} others are there: {}", extra.size(),
                                                some_of(extra, 3))));
  return extra;
}

// Shapes must agree; types of unquantised weights are taken from the headers.
void compare_headers(const Checkpoint& checkpoint, const std::map<std::string, Expected>& expected,
                     ConfigModel& config, Imported& imported) {
  std::vector<std::string> other_types;
  for (const auto& [name, tensor] : checkpoint.headers) {
    const auto found = expected.find(name);
    if (found == expected.end()) continue;
    if (tensor.shape != found->second.shape)
      throw InputError({checkpoint.path, 0, name},
                       fmt::format("its header says {}, the config {}", shape_text(tensor.shape),
                                   shape_text(found->second.shape)));
    if (tensor.dtype == found->second.dtype || !found->second.plain) continue;
    other_types.push_back(name);
    config.model.parameters[found->second.parameter].dtype = tensor.dtype;
  }
  if (other_types.empty()) return;
  imported.understood.push_back(fmt::format(
      "{} tensors have other types in their headers than by the config, and keep those: "
      "{}",
      other_types.size(), some_of(other_types, 3)));
  imported.ignored.push_back(
      "those types in a model file, which has one dtype; import the checkpoint itself as the job's "
      "`model:`");
}

void check_total(const Checkpoint& checkpoint, std::int64_t bytes, const std::string& from,
                 Imported& imported) {
  if (checkpoint.total_size < 0) return;
  if (checkpoint.total_size != bytes)
    throw InputError({checkpoint.path, 0, "metadata.total_size"},
                     fmt::format("{} bytes, {} make {}", checkpoint.total_size, from, bytes));
  imported.understood.push_back(
      fmt::format("total_size {} equals what {} make", checkpoint.total_size, from));
}

std::int64_t header_bytes(const Checkpoint& checkpoint) {
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : checkpoint.headers) bytes += tensor.bytes;
  return bytes;
}

// `extra`: names beyond the family's list, for whoever takes them as an error.
Imported import_checkpoint(Checkpoint checkpoint, const ImportOptions& options,
                           std::vector<std::string>& extra) {
  Imported imported;
  imported.path = checkpoint.path;
  if (checkpoint.headers.empty()) read_headers(checkpoint, imported);
  if (!checkpoint.headers.empty())
    check_total(checkpoint, header_bytes(checkpoint), "the headers' tensors", imported);
  const std::string config_path = config_beside(checkpoint.path);
  if (config_path.empty()) {
    if (checkpoint.headers.empty())
      throw InputError(
          {checkpoint.path, 0, ""},
          fmt::format("{} names and no shapes: put the config.json or the *.safetensors "
                      "files (their headers are read, not their data) beside it",
                      checkpoint.file_of.size()));
    for (const auto& [name, tensor] : checkpoint.headers)
      imported.tensors.push_back({name, tensor.shape, tensor.dtype, std::nullopt, std::nullopt});
    imported.asked.push_back(
        "config.json beside it: an engine's rules need to know the heads and "
        "experts; without it these are tensors of a tensor job");
    imported.asked.push_back("topology, source and destination of every tensor");
    return imported;
  }
  imported.understood.push_back("config: " + config_path);
  ConfigModel config =
      read_config(YamlValue::from_text(read_text_file(config_path, kMaxConfig), config_path),
                  options, answers_of(checkpoint), imported);
  config.model.sources.push_back(checkpoint.path);
  const std::map<std::string, Expected> expected = expected_tensors(config);
  extra = compare_names(checkpoint, expected, config.model.family);
  imported.asked.clear();  // which names it has is decided
  imported.understood.push_back(
      fmt::format("{} names of the index are those of the family", expected.size()));
  if (!extra.empty())
    imported.ignored.push_back(
        fmt::format("{} tensors of the index that the family does not list: {}", extra.size(),
                    some_of(extra, 3)));
  compare_headers(checkpoint, expected, config, imported);
  if (checkpoint.headers.empty() && checkpoint.total_size >= 0) {
    const bool unknown = !config.quantised_note.empty() && config.stored_format.empty();
    std::int64_t bytes = 0;
    for (const auto& [name, tensor] : expected) bytes += bytes_of(tensor.shape, tensor.dtype);
    if (extra.empty() && !unknown)
      check_total(checkpoint, bytes, "the config's tensors", imported);
    else
      imported.ignored.push_back("total_size: tensors of unknown size are among them");
  }
  imported.model = std::move(config.model);
  imported.model_yaml = std::move(config.yaml);
  return imported;
}

}  // namespace

Imported import_safetensors_index(const Source& source) {
  std::vector<std::string> extra;
  return import_checkpoint(read_index(source.text, source.path), source.options, extra);
}

Imported import_safetensors_file(const std::string& path, const ImportOptions& options) {
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.headers = read_safetensors_header(path);
  if (checkpoint.headers.empty()) throw InputError({path, 0, ""}, "its header lists no tensor");
  for (const auto& [name, tensor] : checkpoint.headers)
    checkpoint.file_of[name] = fs::path(path).filename().string();
  std::vector<std::string> extra;
  Imported imported = import_checkpoint(std::move(checkpoint), options, extra);
  return imported;
}

Model model_of_index(const std::string& text, const std::string& path) {
  std::vector<std::string> extra;
  Imported imported = import_checkpoint(read_index(text, path), {}, extra);
  if (!imported.model)
    throw InputError({path, 0, ""},
                     "the config.json is missing beside it: an engine's rules need the heads and "
                     "experts");
  if (!extra.empty())
    throw InputError({path, 0, ""},
                     fmt::format("{} tensors are not in the list of the family {}: {}; transload "
                                 "model import says more",
                                 extra.size(), imported.model->family, some_of(extra, 3)));
  return *std::move(imported.model);
}

}  // namespace transload::importing
