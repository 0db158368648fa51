// What -o writes: a model file, or the part of a job that an import gives.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>

#include "common/error.h"
#include "models/importers/importers.h"

namespace transload {
namespace {

// Names of checkpoints may hold whatever YAML takes for something else ("*", ": ", "yes").
std::string quoted(const std::string& text) {
  YAML::Emitter emitter;
  emitter << YAML::DoubleQuoted << text;
  return emitter.c_str();
}

// A plain word where that is one, as people write it.
std::string word(const std::string& text) {
  const bool plain = !text.empty() &&
                     text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_-./") == std::string::npos &&
                     std::string("-./0123456789").find(text[0]) == std::string::npos;
  return plain ? text : quoted(text);
}

std::string asked_comments(const Imported& imported) {
  std::string text;
  for (const std::string& sentence : imported.asked) {
    std::string line = sentence;
    for (char& c : line)
      if (c == '\n' || c == '\r') c = ' ';
    text += "# asked: " + line + "\n";
  }
  return text;
}

std::string side_text(const ImportedSide& side) {
  std::string text = side.role + ":\n";
  text += side.engine.empty() ? "  # engine: ?\n" : fmt::format("  engine: {}\n", side.engine);
  text += side.gpus ? fmt::format("  gpus: {}\n", *side.gpus) : "  # gpus: ?\n";
  if (!side.parallel.empty()) {
    std::vector<std::string> sizes;
    for (const auto& [key, size] : side.parallel) sizes.push_back(fmt::format("{}: {}", key, size));
    text += fmt::format("  parallel: {{{}}}\n", fmt::join(sizes, ", "));
  }
  if (!side.pp_layout.empty()) text += fmt::format("  pp_layout: {}\n", side.pp_layout);
  for (const auto& [key, value] : side.settings) text += fmt::format("  {}: {}\n", key, value);
  if (!side.nodes.empty()) text += fmt::format("  nodes: {}\n", side.nodes);
  if (!side.dtype.empty() && side.role == "destination")
    text += fmt::format("  dtype: {}\n", side.dtype);
  return text;
}

const ImportedSide* only_side(const Imported& imported, const std::string& role) {
  const ImportedSide* found = nullptr;
  for (const ImportedSide& side : imported.sides) {
    if (side.role != role) continue;
    if (found != nullptr)
      throw InputError({imported.path, 0, role},
                       fmt::format("the file has several, {} and {}; --launch takes one of them",
                                   found->origin, side.origin));
    found = &side;
  }
  return found;
}

std::string model_job_text(const Imported& imported) {
  const ImportedSide* source = only_side(imported, "source");
  const ImportedSide* destination = only_side(imported, "destination");
  std::string model;
  for (const ImportedSide* side : {source, destination})
    if (side != nullptr && model.empty()) model = side->model;
  std::string text = model.empty() ? "# model: ?\n" : fmt::format("model: {}\n", word(model));
  if (source != nullptr && !source->dtype.empty())
    text += fmt::format("dtype: {}\n", source->dtype);
  text += "# topology: ?\n";
  text += source != nullptr ? side_text(*source) : "# source: ?\n";
  text += destination != nullptr ? side_text(*destination) : "# destination: ?\n";
  return text;
}

std::string placement_text(const AxisPlacement& placement) {
  if (!placement.shards()) return "R";
  if (placement.split_factor == 1) return fmt::format("S({})", placement.dim);
  const char* reading = placement.reading == StridedReading::kFactorFirst ? ", reading=factor-first"
                        : placement.reading == StridedReading::kUnflatten ? ", reading=unflatten"
                                                                          : "";
  return fmt::format("\"S({}, split_factor={}{})\"", placement.dim, placement.split_factor,
                     reading);
}

// 0, 1, 2, 3, 8 -> "[0-3, 8]".
std::string ranks_text(const std::vector<Rank>& ranks) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    parts.push_back(end == i + 1 ? std::to_string(ranks[i])
                                 : fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    i = end;
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string sharding_text(const Sharding& sharding) {
  std::vector<std::string> axes;
  for (const MeshAxis& axis : sharding.mesh)
    axes.push_back(fmt::format("{}: {}", word(axis.name), axis.size));
  std::vector<std::string> placements;
  for (const AxisPlacement& placement : sharding.placements)
    placements.push_back(placement_text(placement));
  return fmt::format("{{mesh: {{{}}}, placements: [{}], ranks: {}}}", fmt::join(axes, ", "),
                     fmt::join(placements, ", "), ranks_text(sharding.ranks));
}

std::string tensor_job_text(const Imported& imported) {
  std::string text = "# topology: ?\ntensors:\n";
  for (const ImportedTensor& tensor : imported.tensors) {
    text += fmt::format("  - name: {}\n    shape: [{}]\n", quoted(tensor.name),
                        fmt::join(tensor.shape, ", "));
    text += tensor.dtype ? fmt::format("    dtype: {}\n", dtype_name(*tensor.dtype))
                         : "    # dtype: ?\n";
    text += tensor.source ? fmt::format("    source: {}\n", sharding_text(*tensor.source))
                          : "    # source: ?\n";
    text += tensor.destination
                ? fmt::format("    destination: {}\n", sharding_text(*tensor.destination))
                : "    # destination: ?\n";
  }
  return text;
}

}  // namespace

std::string import_text(const Imported& imported) {
  if (imported.model) return asked_comments(imported) + imported.model_yaml;
  const std::string heading = fmt::format("# Imported from {}.\n",
                                          std::filesystem::path(imported.path).filename().string());
  return heading + asked_comments(imported) +
         (imported.tensors.empty() ? model_job_text(imported) : tensor_job_text(imported));
}

}  // namespace transload
