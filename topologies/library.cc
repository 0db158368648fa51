#include "topologies/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "common/home.h"
#include "topologies/explicit_form.h"
#include "topologies/sourced_value.h"

namespace transload {
namespace {

namespace fs = std::filesystem;

struct Parameter {
  std::string name;
  std::string about;
  std::optional<SourcedValue> fallback;
};

Parameter read_parameter(const std::string& name, const YamlValue& value) {
  for (const char* reserved : {"name", "efficiency", "latency", "rate_scale", "site"})
    if (name == reserved) value.fail("every entry takes this key; a parameter needs another name");
  YamlMap map = value.map();
  Parameter parameter;
  parameter.name = name;
  const auto about = map.optional("about");
  const auto fallback = map.optional("default");
  const auto source = map.optional("source");
  map.finish();
  if (about) parameter.about = about->text();
  if (fallback)
    parameter.fallback.emplace(
        SourcedValue{*fallback, source ? source->text() : std::string(kStatedByUser)});
  return parameter;
}

std::vector<Parameter> read_parameters(const YamlValue& value) {
  std::vector<Parameter> parameters;
  for (const auto& [name, parameter] : value.map().entries())
    parameters.push_back(read_parameter(name, parameter));
  return parameters;
}

[[noreturn]] void fail_missing(const Parameter& parameter, const std::string& entry,
                               const YamlValue& request) {
  const std::string about = parameter.about.empty() ? "" : fmt::format(" ({})", parameter.about);
  request.fail(fmt::format("{} needs the key {}{}; write {{name: {}, {}: ...}}", entry,
                           parameter.name, about, entry, parameter.name));
}

}  // namespace

std::string topology_library_folder() { return transload_home() + "/topologies"; }

std::vector<std::string> topology_library() {
  const std::string folder = topology_library_folder();
  std::error_code error;
  fs::directory_iterator files(folder, error);
  if (error)
    throw InputError(
        {folder, 0, ""},
        "cannot list the topology library; is TRANSLOAD_HOME right? " + error.message());
  std::vector<std::string> names;
  for (const fs::directory_entry& file : files) {
    if (file.path().extension() != ".yaml" || !file.is_regular_file()) continue;
    if (is_library_entry(YamlValue::from_file(file.path().string())))
      names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_library_entry(const YamlValue& file) {
  return file.is_map() && file.map().has("parameters");
}

std::optional<std::string> find_library_file(const std::string& name) {
  const std::string file = fmt::format("{}/{}.yaml", topology_library_folder(), name);
  std::error_code ignored;
  if (name.find('/') != std::string::npos || !fs::is_regular_file(file, ignored) ||
      !is_library_entry(YamlValue::from_file(file)))
    return std::nullopt;
  return file;
}

std::string library_file(const YamlValue& name) {
  const std::string wanted = name.text();
  // Looked up first: finding out which files are entries means reading all of them.
  if (const auto file = find_library_file(wanted)) return *file;
  const std::vector<std::string> known = topology_library();
  const auto near = nearest_word(wanted, {known.begin(), known.end()});
  name.fail(fmt::format("unknown topology {}{}; the library has {}", wanted,
                        near ? fmt::format(" (did you mean {}?)", *near) : "",
                        fmt::join(known, ", ")));
}

Topology instantiate(const YamlValue& file, const std::string& name, const YamlValue& request) {
  YamlMap entry = file.map();
  const std::vector<Parameter> parameters = read_parameters(entry.required("parameters"));
  Overrides overrides;
  Parameters values;
  if (request.is_map()) {
    YamlMap given = request.map();
    given.optional("name");
    if (auto value = given.optional("efficiency")) overrides.efficiency.emplace(*value);
    if (auto value = given.optional("latency")) overrides.latency.emplace(*value);
    if (auto value = given.optional("rate_scale")) overrides.rate_scale.emplace(*value);
    if (auto value = given.optional("site")) overrides.site.emplace(*value);
    for (const Parameter& parameter : parameters)
      if (const auto value = given.optional(parameter.name)) {
        if (value->is_null()) value->fail("expected a value, found nothing");
        values.emplace(parameter.name, resolve(*value));
      }
    given.finish();
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.fallback) values.emplace(parameter.name, *parameter.fallback);
    if (!values.contains(parameter.name)) fail_missing(parameter, name, request);
  }
  return read_explicit_form(entry, name, values, overrides);
}

}  // namespace transload
