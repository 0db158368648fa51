#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "common/error.h"
#include "common/yaml.h"
#include "models/importers/readers.h"
#include "models/library.h"

namespace transload::importing {

namespace fs = std::filesystem;

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// The library's model of this id on the hub; model files are read only as far as that.
std::string by_hub_id(const std::string& id, const std::vector<std::string>& library) {
  for (const std::string& name : library) {
    YamlMap file = YamlValue::from_file(model_library_folder() + "/" + name + ".yaml").map();
    const auto hub_id = file.optional("hub_id");
    if (hub_id && hub_id->is_scalar() && lower(hub_id->text()) == id) return name;
  }
  return "";
}

}  // namespace

LibraryMatch library_match(const std::string& model) {
  const std::string id = lower(model);
  const std::string base = id.substr(id.find_last_of('/') + 1);
  const std::vector<std::string> library = model_library();
  std::string name = by_hub_id(id, library);
  if (name.empty() && std::binary_search(library.begin(), library.end(), base)) name = base;
  if (!name.empty()) return {name, fmt::format("model {}: {} of the library", model, name)};
  const std::vector<std::string_view> words(library.begin(), library.end());
  const auto near = nearest_word(base, words);
  return {"", fmt::format("model: the file says {}, which is not in the library{}; name a library "
                          "entry or a config.json",
                          model, near ? fmt::format(" (the nearest name is {})", *near) : "")};
}

}  // namespace transload::importing
