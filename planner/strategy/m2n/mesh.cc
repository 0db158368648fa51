#include "planner/strategy/m2n/mesh.h"

#include <fmt/format.h>

#include <algorithm>

namespace transload {
namespace {

bool same_cells(const HolderGrid& a, const HolderGrid& b) {
  return a.cuts == b.cuts &&
         std::equal(a.cells.begin(), a.cells.end(), b.cells.begin(), b.cells.end(),
                    [](std::span<const Rank> x, std::span<const Rank> y) {
                      return std::equal(x.begin(), x.end(), y.begin(), y.end());
                    });
}

std::vector<std::size_t> sharded_dimensions(const HolderGrid& grid) {
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < grid.cuts.size(); ++d)
    if (grid.cuts[d].size() > 2) dims.push_back(d);
  return dims;
}

// Whether the holders of the shards are the rows (or the columns) of the ascending ranks.
bool arranged(const HolderGrid& grid, M2nMesh& mesh, bool replicas_inside) {
  mesh.replicas_inside = replicas_inside;
  for (std::int32_t shard = 0; shard < mesh.shards; ++shard)
    for (std::int32_t replica = 0; replica < mesh.replicas; ++replica)
      if (grid.cells[static_cast<std::size_t>(shard)][static_cast<std::size_t>(replica)] !=
          mesh.rank(replica, shard))
        return false;
  return true;
}

}  // namespace

HolderGrid holder_grid(const Layout& layout, const RankSets& sets) {
  HolderGrid grid;
  grid.cuts = layout.cuts;
  grid.cells.reserve(layout.cells.size());
  for (const std::uint32_t cell : layout.cells) grid.cells.push_back(sets.of(cell));
  return grid;
}

std::optional<HolderGrid> stacked_grid(std::span<const HolderGrid> parts) {
  HolderGrid grid;
  grid.cuts.push_back({0});
  grid.cuts.insert(grid.cuts.end(), parts.front().cuts.begin(), parts.front().cuts.end());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].cuts != parts.front().cuts) return std::nullopt;
    const bool as_before = i > 0 && same_cells(parts[i], parts[i - 1]);
    if (as_before) {
      ++grid.cuts[0].back();
      continue;
    }
    grid.cells.insert(grid.cells.end(), parts[i].cells.begin(), parts[i].cells.end());
    grid.cuts[0].push_back(static_cast<std::int64_t>(i) + 1);
  }
  return grid;
}

std::optional<M2nMesh> mesh_of(const HolderGrid& grid, const std::string& side,
                               const std::string& tensor, RefusalList& refused) {
  const std::vector<std::size_t> sharded = sharded_dimensions(grid);
  if (sharded.size() > 1) {
    refused.add("one sharded dimension per side", fmt::format("{} on the {}", sharded.size(), side),
                tensor);
    return std::nullopt;
  }
  M2nMesh mesh;
  mesh.shards = static_cast<std::int32_t>(grid.cells.size());
  if (!sharded.empty()) {
    mesh.shard_dim = static_cast<std::int32_t>(sharded.front());
    const std::vector<std::int64_t>& cuts = grid.cuts[sharded.front()];
    for (std::size_t i = 2; i < cuts.size(); ++i)
      if (cuts[i] - cuts[i - 1] != cuts[1] - cuts[0]) {
        refused.add("shards of equal length",
                    fmt::format("dimension {} of length {} in {} on the {}", mesh.shard_dim,
                                cuts.back(), mesh.shards, side),
                    tensor);
        return std::nullopt;
      }
  }
  const std::size_t replicas = grid.cells.front().size();
  mesh.replicas = static_cast<std::int32_t>(replicas);
  for (const std::span<const Rank> holders : grid.cells) {
    if (holders.size() != replicas || holders.empty()) {
      refused.add("every shard on equally many ranks",
                  fmt::format("{} and {} on the {}", replicas, holders.size(), side), tensor);
      return std::nullopt;
    }
    mesh.ranks.insert(mesh.ranks.end(), holders.begin(), holders.end());
  }
  std::sort(mesh.ranks.begin(), mesh.ranks.end());
  if (const auto twice = std::adjacent_find(mesh.ranks.begin(), mesh.ranks.end());
      twice != mesh.ranks.end()) {
    refused.add("one shard per rank", fmt::format("rank {} has several on the {}", *twice, side),
                tensor);
    return std::nullopt;
  }
  if (arranged(grid, mesh, false) || arranged(grid, mesh, true)) return mesh;
  refused.add("a row-major mesh of replicas and shards",
              fmt::format("another order of ranks on the {}", side), tensor);
  return std::nullopt;
}

}  // namespace transload
