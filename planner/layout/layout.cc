#include "planner/layout/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/check.h"
#include "common/error.h"

namespace transload {
namespace {

// Cells of a grid beyond which explicit boxes are refused rather than expanded.
constexpr std::size_t kMaxCells = 8'000'000;

class ShardMaker {
 public:
  ShardMaker(std::span<const std::int64_t> shape, const std::string& what)
      : shape_(shape), what_(what) {}

  std::vector<RankBox> make(const Sharding& sharding) const {
    return sharding.explicit_boxes() ? from_boxes(sharding) : from_mesh(sharding);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(what_ + ": " + problem);
  }

  void validate_mesh(const Sharding& sharding) const {
    std::int64_t size = 1;
    for (const MeshAxis& axis : sharding.mesh) {
      if (axis.size < 1)
        fail(fmt::format("mesh axis {} has size {}; expected at least 1", axis.name, axis.size));
      if (axis.size > static_cast<std::int64_t>(sharding.ranks.size()))
        fail(fmt::format("mesh axis {} has size {} but there are only {} ranks", axis.name,
                         axis.size, sharding.ranks.size()));
      size *= axis.size;
    }
    if (size != static_cast<std::int64_t>(sharding.ranks.size()))
      fail(fmt::format("the mesh has {} coordinates but there are {} ranks", size,
                       sharding.ranks.size()));
    if (sharding.placements.size() != sharding.mesh.size())
      fail(fmt::format("{} placements for {} mesh axes; expected one per axis",
                       sharding.placements.size(), sharding.mesh.size()));
    for (const AxisPlacement& placement : sharding.placements)
      if (placement.shards() && (placement.dim < 0 || placement.dim >= dims()))
        fail(fmt::format("S({}) on a tensor of {} dimensions", placement.dim, dims()));
    for (const auto& [dim, extent] : sharding.padded) {
      if (dim < 0 || dim >= dims()) fail(fmt::format("padded dimension {} does not exist", dim));
      if (extent < shape_[static_cast<std::size_t>(dim)])
        fail(fmt::format("dimension {} is padded to {}, less than its length {}", dim, extent,
                         shape_[static_cast<std::size_t>(dim)]));
    }
  }

  std::vector<RankBox> from_mesh(const Sharding& sharding) const {
    validate_mesh(sharding);
    std::vector<RankBox> shards;
    shards.reserve(sharding.ranks.size());
    for (std::size_t index = 0; index < sharding.ranks.size(); ++index) {
      Box box = mesh_box(sharding, static_cast<std::int64_t>(index));
      if (volume(box) > 0) shards.push_back({sharding.ranks[index], std::move(box)});
    }
    return shards;
  }

  Box mesh_box(const Sharding& sharding, std::int64_t index) const {
    std::vector<std::int64_t> coordinates(sharding.mesh.size());
    for (std::size_t axis = sharding.mesh.size(); axis-- > 0;) {
      coordinates[axis] = index % sharding.mesh[axis].size;
      index /= sharding.mesh[axis].size;
    }
    Box box = whole_box(shape_);
    for (const auto& [dim, extent] : sharding.padded)
      box.bounds[2 * static_cast<std::size_t>(dim) + 1] = extent;
    for (std::size_t axis = 0; axis < sharding.mesh.size(); ++axis) {
      const AxisPlacement& placement = sharding.placements[axis];
      if (!placement.shards()) continue;
      const auto d = static_cast<std::size_t>(placement.dim);
      const auto [begin, end] =
          split_range(box.extent(d), sharding.mesh[axis].size, coordinates[axis], sharding.split);
      const std::int64_t base = box.lo(d);
      box.bounds[2 * d] = base + begin;
      box.bounds[2 * d + 1] = base + end;
    }
    return intersection(box, whole_box(shape_));
  }

  std::vector<RankBox> from_boxes(const Sharding& sharding) const {
    std::vector<RankBox> shards;
    for (const auto& [rank, boxes] : sharding.boxes) {
      for (const ExplicitBox& bounds : boxes) {
        if (static_cast<int>(bounds.size()) != dims())
          fail(fmt::format("rank {}: a box of {} dimensions in a tensor of {}", rank, bounds.size(),
                           dims()));
        Box box;
        for (std::size_t d = 0; d < bounds.size(); ++d) {
          const auto [low, high] = bounds[d];
          if (low < 0 || high < low || high > shape_[d])
            fail(fmt::format(
                "rank {}: bounds [{}, {}] of dimension {} lie outside the tensor's length {}", rank,
                low, high, d, shape_[d]));
          box.bounds.push_back(low);
          box.bounds.push_back(high);
        }
        if (volume(box) > 0) shards.push_back({rank, std::move(box)});
      }
    }
    return shards;
  }

  int dims() const { return static_cast<int>(shape_.size()); }

  std::span<const std::int64_t> shape_;
  const std::string& what_;
};

std::vector<std::vector<std::int64_t>> cut_points(const std::vector<RankBox>& shards,
                                                  std::span<const std::int64_t> shape) {
  std::vector<std::vector<std::int64_t>> cuts(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t>& points = cuts[d];
    points = {0, shape[d]};
    for (const RankBox& shard : shards) {
      points.push_back(shard.box.lo(d));
      points.push_back(shard.box.hi(d));
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
  }
  return cuts;
}

std::size_t index_of(const std::vector<std::int64_t>& points, std::int64_t value) {
  return static_cast<std::size_t>(std::lower_bound(points.begin(), points.end(), value) -
                                  points.begin());
}

// Appends `rank` to every cell that `box` covers.
void mark(const Layout& layout, const RankBox& shard, std::vector<std::vector<Rank>>& cells,
          const std::string& what) {
  const std::size_t dims = layout.cuts.size();
  std::vector<std::size_t> low(dims);
  std::vector<std::size_t> high(dims);
  for (std::size_t d = 0; d < dims; ++d) {
    low[d] = index_of(layout.cuts[d], shard.box.lo(d));
    high[d] = index_of(layout.cuts[d], shard.box.hi(d));
  }
  std::vector<std::size_t> at = low;
  while (true) {
    std::size_t cell = 0;
    for (std::size_t d = 0; d < dims; ++d) cell = cell * (layout.cuts[d].size() - 1) + at[d];
    if (!cells[cell].empty() && cells[cell].back() == shard.rank)
      throw InputError(fmt::format("{}: rank {} holds elements of box {} twice", what, shard.rank,
                                   to_string(shard.box)));
    cells[cell].push_back(shard.rank);
    std::size_t d = dims;
    while (d-- > 0) {
      if (++at[d] < high[d]) break;
      at[d] = low[d];
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace

RankSets::RankSets() { intern({}); }

std::uint32_t RankSets::intern(std::vector<Rank> ascending) {
  const auto [entry, added] =
      ids_.try_emplace(std::move(ascending), static_cast<std::uint32_t>(sets_.size()));
  if (added) sets_.push_back(entry->first);
  return entry->second;
}

std::pair<std::int64_t, std::int64_t> split_range(std::int64_t length, std::int64_t parts,
                                                  std::int64_t index, SplitRule rule) {
  TRANSLOAD_CHECK(length >= 0 && parts > 0 && index >= 0 && index < parts, "a part of a split");
  if (rule == SplitRule::kChunk) {
    const std::int64_t chunk = (length + parts - 1) / parts;
    const std::int64_t begin = std::min(length, chunk * index);
    return {begin, std::min(length, begin + chunk)};
  }
  const std::int64_t base = length / parts;
  const std::int64_t longer = length % parts;
  const std::int64_t begin = base * index + std::min(index, longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

Layout make_layout(std::span<const Sharding* const> shardings, std::span<const std::int64_t> shape,
                   RankSets& sets, const std::string& what) {
  Layout layout;
  const ShardMaker maker(shape, what);
  for (const Sharding* sharding : shardings) {
    std::vector<RankBox> shards = maker.make(*sharding);
    std::move(shards.begin(), shards.end(), std::back_inserter(layout.shards));
  }
  std::stable_sort(layout.shards.begin(), layout.shards.end(),
                   [](const RankBox& a, const RankBox& b) { return a.rank < b.rank; });
  layout.cuts = cut_points(layout.shards, shape);
  std::size_t count = 1;
  for (const auto& points : layout.cuts) {
    count *= points.size() - 1;
    if (count > kMaxCells)
      throw InputError(what + ": the boxes cut the tensor into more than 8 million cells");
  }
  std::vector<std::vector<Rank>> cells(count);
  for (const RankBox& shard : layout.shards) mark(layout, shard, cells, what);
  layout.cells.reserve(count);
  for (std::vector<Rank>& ranks : cells) layout.cells.push_back(sets.intern(std::move(ranks)));
  return layout;
}

}  // namespace transload
