#include "planner/layout/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "common/check.h"
#include "common/error.h"

namespace transload {
namespace {

// Cells of a grid beyond which explicit boxes are refused rather than expanded.
constexpr std::size_t kMaxCells = 8'000'000;

void leave_out(Shards& shards, const std::vector<Rank>& absent) {
  if (absent.empty()) return;
  const auto gone = [&](const auto& row) {
    return std::binary_search(absent.begin(), absent.end(), row.rank);
  };
  std::erase_if(shards.boxes, gone);
  std::erase_if(shards.storage, gone);
}

void append(Layout& layout, Shards shards, std::uint32_t pool) {
  const auto first_loops = static_cast<std::uint32_t>(layout.loops.size());
  for (RankBox& box : shards.boxes) {
    box.pool = pool;
    box.loops += first_loops;
    layout.shards.push_back(std::move(box));
  }
  for (RankStorage& storage : shards.storage) {
    storage.pool = pool;
    layout.storage.push_back(std::move(storage));
  }
  std::move(shards.loops.begin(), shards.loops.end(), std::back_inserter(layout.loops));
  layout.slots |= shards.slots;
}

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

Layout make_layout(std::span<const PoolSharding* const> pools, std::span<const std::int64_t> shape,
                   std::int64_t element_bits, RankSets& sets, const std::string& what,
                   std::span<const std::vector<Rank>> absent) {
  Layout layout;
  for (const PoolSharding* pool : pools) {
    Shards shards = make_shards(pool->sharding, shape, element_bits, what);
    if (pool->pool < absent.size()) leave_out(shards, absent[pool->pool]);
    append(layout, std::move(shards), pool->pool);
  }
  const auto by_rank = [](const auto& a, const auto& b) { return a.rank < b.rank; };
  std::stable_sort(layout.shards.begin(), layout.shards.end(), by_rank);
  std::stable_sort(layout.storage.begin(), layout.storage.end(), by_rank);
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

std::int64_t contiguous_run(const Layout& layout, const RankBox& shard, const Box& inner,
                            std::int64_t element_bits) {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> bounds;
  for (std::size_t d = 0; d < inner.dims(); ++d) {
    extents.push_back(shard.box.extent(d));
    bounds.push_back(inner.lo(d) - shard.box.lo(d));
    bounds.push_back(inner.hi(d) - shard.box.lo(d));
  }
  return contiguous_run(layout.loops[shard.loops], extents, bounds, element_bits);
}

}  // namespace transload
