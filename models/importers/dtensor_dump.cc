// Dumps of DTensor layouts: one mesh, and per parameter the global shape, the placements, and each
// rank's local shape and global offset. One side of a tensor job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <set>

#include "common/error.h"
#include "models/importers/json_reader.h"
#include "models/importers/readers.h"
#include "models/importers/side_text.h"
#include "models/importers/torch_placement.h"

namespace transload::importing {
namespace {

struct DumpMesh {
  std::vector<MeshAxis> axes;
  std::vector<std::int64_t> ranks;  // row-major, as the dump numbers them
};

DumpMesh read_mesh(const JsonPlace& place) {
  DumpMesh mesh;
  const std::vector<JsonPlace> sizes = place.at("shape").list();
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    mesh.axes.push_back({fmt::format("axis{}", axis), sizes[axis].integer_in(1, kMaxSize)});
    product *= mesh.axes.back().size;
    if (product > kMaxSize) place.fail(fmt::format("more than {} ranks", kMaxSize));
  }
  if (mesh.axes.empty()) place.fail("expected at least one mesh axis");
  if (place.has("dim_names")) {
    const std::vector<JsonPlace> names = place.at("dim_names").list();
    if (names.size() != mesh.axes.size())
      place.fail(fmt::format("{} names for {} mesh axes", names.size(), mesh.axes.size()));
    std::set<std::string> seen;
    for (std::size_t axis = 0; axis < names.size(); ++axis) {
      mesh.axes[axis].name = names[axis].text();
      const bool word = !mesh.axes[axis].name.empty() &&
                        mesh.axes[axis].name.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
                            std::string::npos;
      if (!word) names[axis].fail("expected a plain word as the name of a mesh axis");
      if (!seen.insert(mesh.axes[axis].name).second)
        names[axis].fail("two mesh axes have this name");
    }
  }
  if (place.has("ranks")) {
    std::set<std::int64_t> seen;
    for (const JsonPlace& rank : place.at("ranks").list()) {
      mesh.ranks.push_back(rank.integer_in(0, kMaxSize));
      if (!seen.insert(mesh.ranks.back()).second) rank.fail("this rank stands twice in the mesh");
    }
  } else {
    for (std::int64_t rank = 0; rank < product; ++rank) mesh.ranks.push_back(rank);
  }
  if (static_cast<std::int64_t>(mesh.ranks.size()) != product)
    place.fail(fmt::format("a mesh of {} places for {} ranks", product, mesh.ranks.size()));
  return mesh;
}

std::vector<std::int64_t> coordinate_of(const DumpMesh& mesh, std::size_t position) {
  std::vector<std::int64_t> coordinate(mesh.axes.size());
  auto rest = static_cast<std::int64_t>(position);
  for (std::size_t axis = mesh.axes.size(); axis-- > 0;) {
    coordinate[axis] = rest % mesh.axes[axis].size;
    rest /= mesh.axes[axis].size;
  }
  return coordinate;
}

std::string placements_text(const std::vector<AxisPlacement>& placements) {
  std::string text;
  for (const AxisPlacement& placement : placements) {
    if (!text.empty()) text += ", ";
    if (!placement.shards())
      text += "R";
    else if (placement.split_factor > 1)
      text += fmt::format("S({}, split_factor={})", placement.dim, placement.split_factor);
    else
      text += fmt::format("S({})", placement.dim);
  }
  return text;
}

std::vector<AxisPlacement> read_placements(const JsonPlace& place, std::size_t dims,
                                           std::size_t axes) {
  std::vector<AxisPlacement> placements;
  for (const JsonPlace& item : place.list()) {
    const std::string text = item.text();
    const auto placement = parse_torch_placement(text, dims);
    if (!placement &&
        (text.starts_with("Partial") || text.starts_with("_Partial") || text.starts_with("P(")))
      item.fail(
          fmt::format("{}: a sum that is not reduced yet holds no weights; redistribute "
                      "before the refit",
                      text));
    if (!placement)
      item.fail(
          fmt::format("expected Replicate(), Shard(dim=0..{}) or _StridedShard(dim=, "
                      "split_factor=), found {}",
                      dims == 0 ? 0 : dims - 1, text));
    placements.push_back(*placement);
  }
  if (placements.size() != axes)
    place.fail(fmt::format("expected one placement per mesh axis ({}), found {}", axes,
                           placements.size()));
  return placements;
}

// The two readings of a strided shard differ where k x axis does not divide what it cuts.
bool needs_reading(std::int64_t length, std::size_t at,
                   const std::vector<AxisPlacement>& placements,
                   const std::vector<MeshAxis>& mesh) {
  std::int64_t cuts = placements[at].split_factor * mesh[at].size;
  for (std::size_t axis = 0; axis < at; ++axis)
    if (placements[axis].dim == placements[at].dim)
      cuts *= placements[axis].split_factor * mesh[axis].size;
  return length % cuts != 0;
}

// Every rank's local shape and offset, as dumped, against what the placements say.
void check_shards(const JsonPlace& parameter, const DumpMesh& mesh,
                  const std::vector<std::int64_t>& shape,
                  const std::vector<AxisPlacement>& placements) {
  const JsonPlace shards = parameter.at("shards");
  shards.require_object();
  for (std::size_t position = 0; position < mesh.ranks.size(); ++position) {
    const JsonPlace shard = shards.at(std::to_string(mesh.ranks[position]));
    const std::vector<std::int64_t> local = shard.at("local_shape").shape();
    const std::vector<std::int64_t> offset = shard.at("global_offset").shape();
    if (local.size() != shape.size() || offset.size() != shape.size())
      shard.fail(fmt::format("{} and {} numbers for {} dimensions", local.size(), offset.size(),
                             shape.size()));
    const std::vector<std::int64_t> coordinate = coordinate_of(mesh, position);
    bool empty = false;
    std::vector<Intervals> held;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      held.push_back(
          held_part(shape[dim], static_cast<int>(dim), placements, mesh.axes, coordinate));
      empty = empty || held.back().empty();
    }
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
      const std::int64_t length = total_length(held[dim]);
      // An empty shard's offset is a matter of taste.
      const bool same_offset = empty || offset[dim] == held[dim][0][0];
      if (local[dim] == length && same_offset) continue;
      shard.fail(
          fmt::format("dimension {}: the dump says {} from {}, its placements [{}] of {} say {}{}",
                      dim, local[dim], offset[dim], placements_text(placements), shape[dim], length,
                      held[dim].empty() ? "" : fmt::format(" from {}", held[dim][0][0])));
    }
  }
  if (shards.value().size() != mesh.ranks.size())
    shards.fail(fmt::format("{} shards for {} ranks of the mesh", shards.value().size(),
                            mesh.ranks.size()));
}

}  // namespace

Imported import_dtensor_dump(const Source& source) {
  const Json json = parse_json(source.text, source.path);
  const JsonPlace root(json, source.path, "");
  const DumpMesh mesh = read_mesh(root.at("mesh"));
  const JsonPlace parameters = root.at("parameters");
  parameters.require_object();
  if (parameters.value().empty()) parameters.fail("expected at least one parameter");
  std::optional<DType> dtype = source.options.dtype;
  if (root.has("dtype")) dtype = root.at("dtype").dtype();

  Imported imported;
  std::vector<Rank> ranks;
  for (const std::int64_t rank : mesh.ranks)
    ranks.push_back(static_cast<Rank>(rank + source.options.first_rank));
  std::size_t strided = 0;
  std::size_t read = 0;
  for (const auto& item : parameters.value().items()) {
    const JsonPlace parameter = parameters.at(item.key());
    ImportedTensor tensor;
    tensor.name = item.key();
    tensor.shape = parameter.at("global_shape").shape();
    tensor.dtype = parameter.has("dtype") ? parameter.at("dtype").dtype() : dtype;
    if (!tensor.dtype) parameter.fail("no dtype, here or for the whole dump; --dtype gives one");
    Sharding sharding;
    sharding.mesh = mesh.axes;
    sharding.ranks = ranks;
    sharding.placements =
        read_placements(parameter.at("placements"), tensor.shape.size(), mesh.axes.size());
    check_shards(parameter, mesh, tensor.shape, sharding.placements);
    bool any = false;
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
      AxisPlacement& placement = sharding.placements[axis];
      if (!placement.shards() || placement.split_factor == 1) continue;
      any = true;
      const std::int64_t length = tensor.shape[static_cast<std::size_t>(placement.dim)];
      if (!needs_reading(length, axis, sharding.placements, mesh.axes)) continue;
      placement.reading = StridedReading::kFactorFirst;
      ++read;
    }
    strided += any ? 1 : 0;
    (source.options.role == "source" ? tensor.source : tensor.destination) = std::move(sharding);
    imported.tensors.push_back(std::move(tensor));
  }
  std::vector<std::string> axes;
  for (const MeshAxis& axis : mesh.axes) axes.push_back(fmt::format("{} {}", axis.name, axis.size));
  imported.understood.push_back(fmt::format("{}: {} parameters over a mesh of {}",
                                            source.options.role, imported.tensors.size(),
                                            fmt::join(axes, " x ")));
  imported.understood.push_back(fmt::format(
      "the local shape and offset of each of {} ranks agree with the placements", ranks.size()));
  if (read > 0)
    imported.understood.push_back(fmt::format(
        "{} uneven strided shards: reading factor-first, which is torch's _StridedShard", read));
  else if (strided > 0)
    imported.understood.push_back(
        fmt::format("{} parameters have strided shards, all even: both readings agree", strided));
  if (root.has("format")) imported.ignored.push_back("format: a remark of whoever wrote the dump");
  imported.asked.push_back(fmt::format("topology, {} of every tensor: a dump gives one layout",
                                       source.options.role == "source" ? "destination" : "source"));
  return imported;
}

}  // namespace transload::importing
