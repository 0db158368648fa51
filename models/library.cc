#include "models/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "common/home.h"
#include "models/families/families.h"
#include "models/importers/importers.h"

namespace transload {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostElements = std::int64_t{1} << 60;

const Family& family_named(const YamlValue& value) {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.name);
  const std::string word = value.word_of(names);
  return *std::find_if(std::begin(kFamilies), std::end(kFamilies),
                       [&](const Family& family) { return family.name == word; });
}

PublishedTotal read_published(YamlMap map) {
  PublishedTotal published;
  published.parameters = map.required("parameters").integer_in(1, kMostElements);
  std::vector<std::string_view> names;
  names.reserve(kModelParts.size());
  for (const ModelPart part : kModelParts) names.emplace_back(model_part_name(part));
  const YamlValue counts = map.required("counts");
  for (const YamlValue& item : counts.list()) {
    const std::string word = item.word_of(names);
    const ModelPart part = kModelParts[static_cast<std::size_t>(
        std::find(names.begin(), names.end(), word) - names.begin())];
    if (std::find(published.counts.begin(), published.counts.end(), part) != published.counts.end())
      item.fail(fmt::format("{} stands twice", word));
    published.counts.push_back(part);
  }
  if (published.counts.empty())
    counts.fail("expected at least one part of main, mtp, mtp-copy, vision, buffer");
  if (const auto tensors = map.optional("tensors"))
    published.tensors = tensors->integer_in(1, kMostElements);
  if (const auto difference = map.optional("known_difference"))
    published.known_difference = difference->integer_in(-kMostElements, kMostElements);
  published.source = map.required("source").text();
  if (const auto note = map.optional("note")) published.note = note->text();
  if (published.known_difference != 0 && published.note.empty())
    map.required("known_difference")
        .fail("a difference needs a note that says where it comes from");
  map.finish();
  return published;
}

// Hugging Face files are a likely mistake; say so rather than "family is missing".
void refuse_foreign(const YamlMap& map) {
  for (const char* key : {"model_type", "architectures", "weight_map"})
    if (map.has(key))
      map.fail(
          fmt::format("this is a Hugging Face file (it has {}); this version reads model files "
                      "of the library's form, such as {}/deepseek-v3.yaml",
                      key, model_library_folder()));
}

bool looks_like_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".yaml") ||
         text.ends_with(".yml") || text.ends_with(".json");
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The only name that begins as given (the size is often left out), or else the nearest.
std::optional<std::string> meant_model(const std::string& name,
                                       const std::vector<std::string>& library) {
  std::vector<std::string> longer;
  for (const std::string& candidate : library)
    if (candidate.starts_with(name)) longer.push_back(candidate);
  if (longer.size() == 1) return longer.front();
  return nearest_word(name, std::vector<std::string_view>(library.begin(), library.end()));
}

std::string unknown_model(const std::string& name, const std::vector<std::string>& library) {
  const auto near = meant_model(name, library);
  return fmt::format("no model is called {}{}; the library has {}", name,
                     near ? fmt::format(" (did you mean {}?)", *near) : "",
                     fmt::join(library, ", "));
}

std::string library_file(const std::string& name) {
  return (fs::path(model_library_folder()) / (name + ".yaml")).string();
}

}  // namespace

std::string model_library_folder() { return transload_home() + "/models"; }

std::vector<std::string> model_library() {
  std::vector<std::string> names;
  std::error_code error;
  const std::string folder = model_library_folder();
  fs::directory_iterator files(folder, error);
  if (error)
    throw InputError(
        {folder, 0, ""},
        "cannot read the model library; TRANSLOAD_HOME names the folder above models/");
  for (const fs::directory_entry& file : files)
    if (file.path().extension() == ".yaml") names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Model read_model(const YamlValue& value, const std::string& name) {
  YamlMap map = value.map();
  refuse_foreign(map);
  Model model;
  model.name = name;
  if (const auto given = map.optional("name")) model.name = given->text();
  const YamlValue family_value = map.required("family");
  const Family& family = family_named(family_value);
  model.family = family.name;
  model.dtype = map.required("dtype").dtype();
  const YamlValue sources = map.required("sources");
  for (const YamlValue& source : sources.list()) model.sources.push_back(source.text());
  if (model.sources.empty()) sources.fail("expected at least one source of the hyper-parameters");
  if (const auto hub_id = map.optional("hub_id")) model.hub_id = hub_id->text();
  if (const auto unverified = map.optional("unverified"))
    for (const YamlValue& field : unverified->list()) model.unverified.push_back(field.text());
  if (const auto published = map.optional("published"))
    model.published = read_published(published->map());
  YamlMap hyper = map.required("hyper_parameters").map();
  // Before the list is built: a misspelt key should not wait behind it.
  map.finish();
  family.build(hyper, model);
  hyper.finish();
  return model;
}

Model load_model_file(const std::string& path) {
  return read_model(YamlValue::from_file(path), fs::path(path).stem().string());
}

Model load_library_model(const std::string& name) {
  const std::vector<std::string> library = model_library();
  if (!std::binary_search(library.begin(), library.end(), name))
    throw InputError({"", 0, "model"}, unknown_model(name, library));
  return load_model_file(library_file(name));
}

Model load_model(const YamlValue& value, const std::string& base_folder) {
  const std::string text = value.text();
  if (looks_like_path(text)) {
    const fs::path beside = fs::path(base_folder) / text;
    for (const std::string& file : {beside.string(), text})
      if (is_file(file))
        return is_importable_model(file) ? import_model(file) : load_model_file(file);
    value.fail(fmt::format("no file {}, neither from {} nor as it stands", text,
                           base_folder.empty() ? "the current folder" : base_folder));
  }
  const std::vector<std::string> library = model_library();
  if (!std::binary_search(library.begin(), library.end(), text))
    value.fail(unknown_model(text, library));
  return load_model_file(library_file(text));
}

}  // namespace transload
