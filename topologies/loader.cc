#include "topologies/loader.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "topologies/explicit_form.h"
#include "topologies/fabric_form.h"
#include "topologies/join.h"
#include "topologies/library.h"
#include "topologies/node_group.h"

namespace transload {
namespace {

namespace fs = std::filesystem;

// Only plain files: reading a pipe or a device could wait, or go on, for ever.
std::optional<std::string> find_file(const std::string& path, const std::string& base_folder) {
  std::error_code ignored;
  for (const fs::path& candidate : {fs::path(base_folder) / path, fs::path(path)})
    if (fs::is_regular_file(candidate, ignored)) return candidate.string();
  return std::nullopt;
}

bool looks_like_path(const std::string& text) {
  return text.find('/') != std::string::npos || fs::path(text).extension() == ".yaml" ||
         fs::path(text).extension() == ".yml" || fs::path(text).extension() == ".json";
}

// `request` is where parameters stand, `name` its name or path; a plain word is both.
Topology load_named(const YamlValue& name, const YamlValue& request,
                    const std::string& base_folder) {
  const std::string text = name.text();
  if (!looks_like_path(text))
    return instantiate(YamlValue::from_file(library_file(name)), text, request);

  const auto path = find_file(text, base_folder);
  if (!path)
    name.fail(fmt::format("no such file: {} (looked in {} and from the working folder)", text,
                          base_folder.empty() ? "." : base_folder));
  const YamlValue file = YamlValue::from_file(*path);
  const std::string stem = fs::path(*path).stem().string();
  if (is_library_entry(file)) return instantiate(file, stem, request);
  // Parameters beside a file that takes none would be lost without a word.
  if (request.is_map() && request.map().entries().size() > 1)
    request.fail(fmt::format("{} takes no parameters: it has no `parameters:`", text));
  Topology topology = read_explicit_form(file.map(), stem);
  topology.unit_test_rates = true;
  return topology;
}

Topology load_part(const YamlValue& value, const std::string& base_folder) {
  if (value.is_scalar()) return load_named(value, value, base_folder);
  if (!value.is_map())
    value.fail("expected {name: ..., nodes: ...}, a file, or {nodes: [...]}, one topology");
  YamlMap map = value.map();
  if (const auto name = map.optional("name")) return load_named(*name, value, base_folder);
  const auto nodes = map.optional("nodes");
  if (nodes && nodes->is_scalar())
    nodes->fail("expected a list of node groups, or the key name of a library entry beside it");
  Topology topology = read_explicit_form(map, "inline");
  topology.unit_test_rates = true;
  return topology;
}

// `{links: [...]}` in a list of topologies.
std::optional<YamlValue> links_alone(const YamlValue& part) {
  if (!part.is_map() || part.map().has("nodes") || part.map().has("name")) return std::nullopt;
  YamlMap map = part.map();
  auto links = map.optional("links");
  if (links) map.finish();
  return links;
}

Topology named(Topology topology, const YamlValue& place) {
  name_parts(topology);
  std::set<std::string_view> names;
  for (const Node& node : topology.nodes)
    if (!names.insert(node.name).second)
      place.fail(fmt::format("two nodes are called {}", node.name));
  return topology;
}

}  // namespace

Topology load_topology(const YamlValue& value, const std::string& base_folder) {
  if (!value.is_list()) return named(load_part(value, base_folder), value);
  std::vector<Topology> parts;
  std::vector<YamlValue> links;
  std::size_t gpus = 0;
  std::size_t nics = 0;
  for (const YamlValue& part : value.list()) {
    if (const auto alone = links_alone(part)) {
      links.push_back(*alone);
      continue;
    }
    parts.push_back(load_part(part, base_folder));
    gpus += parts.back().gpus.size();
    nics += parts.back().nics.size();
    // Checked as they come: a long list of large parts must not fill the memory first.
    if (gpus > std::size_t{kMaxGpus} || nics > std::size_t{kMaxNics})
      part.fail(fmt::format("more than {} GPUs or {} NICs in all", kMaxGpus, kMaxNics));
  }
  if (parts.empty()) value.fail("expected at least one topology, found none");
  Topology topology = join(parts);
  for (const YamlValue& list : links) read_wan_links(list, 1, topology);
  return named(std::move(topology), value);
}

}  // namespace transload
