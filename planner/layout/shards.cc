#include "planner/layout/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "common/error.h"
#include "planner/layout/fills.h"
#include "planner/layout/mesh_rules.h"
#include "planner/layout/segments.h"

namespace transload {
namespace {

// Boxes of one rank, and of all, beyond which a layout is refused rather than expanded.
constexpr std::size_t kMaxBoxes = 1'000'000;
constexpr std::size_t kMaxBoxesOfAll = 8'000'000;

class ShardMaker {
 public:
  ShardMaker(const Sharding& sharding, std::span<const std::int64_t> shape,
             std::int64_t element_bits, const std::string& what)
      : sharding_(sharding), shape_(shape), element_bits_(element_bits), what_(what) {}

  Shards make() {
    shards_.slots = !sharding_.slots.empty() || !sharding_.rank_slots.empty();
    if (sharding_.explicit_boxes())
      from_boxes();
    else if (!sharding_.rank_slots.empty())
      from_rank_slots();
    else
      from_mesh();
    return std::move(shards_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(what_ + ": " + problem);
  }

  std::string what_of(Rank rank) const { return fmt::format("{}, rank {}", what_, rank); }

  // ---- form 1 ----

  void from_mesh() {
    std::vector<std::int64_t> shape(shape_.begin(), shape_.end());
    if (shards_.slots) {
      if (shape.empty()) fail("slots of a tensor without dimensions");
      if (sharding_.padded.contains(0)) fail("dimension 0 is one of slots, which cannot be padded");
      shape[0] = static_cast<std::int64_t>(sharding_.slots.size());
    }
    validate_mesh(sharding_, shape, what_);
    const std::vector<int> order = application_order(sharding_);
    for (std::size_t index = 0; index < sharding_.ranks.size(); ++index)
      add_rank(sharding_.ranks[index], cut(shape, order, static_cast<std::int64_t>(index)));
  }

  // What the rank at a row-major position of the mesh holds of each dimension.
  std::vector<Segments> cut(const std::vector<std::int64_t>& shape, const std::vector<int>& order,
                            std::int64_t position) const {
    std::vector<std::int64_t> coordinates(sharding_.mesh.size());
    for (std::size_t axis = sharding_.mesh.size(); axis-- > 0;) {
      coordinates[axis] = position % sharding_.mesh[axis].size;
      position /= sharding_.mesh[axis].size;
    }
    std::vector<Segments> dims(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto padded = sharding_.padded.find(static_cast<int>(d));
      const std::int64_t extent =
          padded == sharding_.padded.end() ? shape[d] : padded->second.extent;
      if (extent > 0) dims[d].push_back({0, extent, 0});
    }
    for (const int axis : order) {
      const AxisPlacement& placement = sharding_.placements[static_cast<std::size_t>(axis)];
      if (!placement.shards()) continue;
      Segments& segments = dims[static_cast<std::size_t>(placement.dim)];
      segments = cut_by(segments, placement, sharding_.mesh[static_cast<std::size_t>(axis)].size,
                        coordinates[static_cast<std::size_t>(axis)]);
    }
    return dims;
  }

  Segments cut_by(const Segments& segments, const AxisPlacement& placement, std::int64_t size,
                  std::int64_t index) const {
    const std::int64_t length = total_length(segments);
    if (placement.split_factor > 1)
      return take_ranges(
          segments, strided_ranges(length, placement.split_factor, size, index, placement.reading));
    if (const auto sizes = sharding_.sizes.find(placement.dim); sizes != sharding_.sizes.end()) {
      std::int64_t begin = 0;
      for (std::int64_t i = 0; i < index; ++i) begin += sizes->second[static_cast<std::size_t>(i)];
      return take_range(segments, begin, begin + sizes->second[static_cast<std::size_t>(index)]);
    }
    const auto rule = sharding_.split_of_dim.find(placement.dim);
    const auto [begin, end] = split_range(
        length, size, index, rule == sharding_.split_of_dim.end() ? sharding_.split : rule->second);
    return take_range(segments, begin, end);
  }

  // ---- form 3 ----

  void from_rank_slots() {
    if (shape_.empty()) fail("slots of a tensor without dimensions");
    for (const auto& [rank, ids] : sharding_.rank_slots) {
      std::vector<Segments> dims(shape_.size());
      for (std::size_t d = 1; d < shape_.size(); ++d)
        if (shape_[d] > 0) dims[d].push_back({0, shape_[d], 0});
      dims[0].push_back({0, static_cast<std::int64_t>(ids.size()), 0});
      if (ids.empty()) dims[0].clear();
      slots_ = ids;
      add_rank(rank, dims);
    }
  }

  // Slots become the indices that they hold, each a segment of its own.
  Segments indices_of(const Segments& slots, Rank rank) const {
    const std::vector<std::int64_t>& ids = sharding_.slots.empty() ? slots_ : sharding_.slots;
    Segments indices;
    for (const Segment& segment : slots)
      for (std::int64_t i = 0; i < segment.length(); ++i) {
        const std::int64_t slot = segment.lo + i;
        const std::int64_t id = ids[static_cast<std::size_t>(slot)];
        if (id < 0 || id >= shape_[0])
          fail(
              fmt::format("slot {} ({} of rank {}, its slot {}) holds index {}; dimension 0 has 0 "
                          "to {}",
                          slot, sharding_.slots.empty() ? "in the table" : "physical slot", rank,
                          segment.local + i, id, shape_[0] - 1));
        indices.push_back({id, id + 1, segment.local + i});
      }
    return indices;
  }

  // ---- forms 1 and 3: dimensions apart ----

  void add_rank(Rank rank, std::vector<Segments> dims) {
    std::vector<std::int64_t> extents;
    extents.reserve(dims.size());
    for (const Segments& segments : dims) extents.push_back(total_length(segments));
    const StorageMap map = storage_map(sharding_, extents, what_of(rank));
    const std::int64_t base = offset_bits_of(rank);
    RankStorage storage{rank, byte_end(base, map, rank), {}, false, sharding_.memory.slot_bytes, 0};
    bool padded = false;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (d == 0 && shards_.slots) {
        dims[d] = indices_of(dims[d], rank);
        continue;
      }
      const std::int64_t whole = total_length(dims[d]);
      dims[d] = clip(dims[d], shape_[d]);
      const auto found = sharding_.padded.find(static_cast<int>(d));
      if (found == sharding_.padded.end() || total_length(dims[d]) == whole) continue;
      padded = true;
      storage.zero_padding |= found->second.fill == PaddingFill::kZero;
    }
    add_boxes(rank, dims, map, base);
    if (padded) storage.padding = padding_spans(dims, map, base, element_bits_, what_of(rank));
    shards_.storage.push_back(std::move(storage));
  }

  std::int64_t offset_bits_of(Rank rank) const {
    const auto found = sharding_.memory.rank_offsets.find(rank);
    const std::int64_t bytes = found == sharding_.memory.rank_offsets.end()
                                   ? sharding_.memory.offset_bytes
                                   : found->second;
    if (bytes < 0 || bytes > (std::int64_t{1} << 50))
      fail(fmt::format("rank {}: offset {} of the buffer", rank, bytes));
    return bytes * 8;
  }

  std::int64_t byte_end(std::int64_t base, const StorageMap& map, Rank rank) const {
    const std::int64_t span = storage_span(map);
    if (span > (std::int64_t{1} << 52) || span < 0)
      fail(fmt::format("rank {}: the strides span {} elements", rank, span));
    return span == 0 ? 0 : (base + span * element_bits_ + 7) / 8;
  }

  void add_boxes(Rank rank, const std::vector<Segments>& dims, const StorageMap& map,
                 std::int64_t base) {
    std::vector<std::vector<DigitPiece>> pieces(dims.size());
    std::vector<std::vector<std::int64_t>> lows(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      for (const Segment& segment : dims[d])
        for (DigitPiece& piece :
             digit_pieces(map.dims[d], segment.local, segment.local + segment.length())) {
          lows[d].push_back(segment.lo + (piece.begin - segment.local));
          pieces[d].push_back(std::move(piece));
        }
      if (pieces[d].empty()) return;
    }
    refuse_too_many(rank, pieces);
    std::vector<std::size_t> at(dims.size(), 0);
    while (true) {
      RankBox shard;
      shard.rank = rank;
      shard.offset_bits = base;
      PlaceLoops loops;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        const DigitPiece& piece = pieces[d][at[d]];
        shard.box.bounds.push_back(lows[d][at[d]]);
        shard.box.bounds.push_back(lows[d][at[d]] + (piece.end - piece.begin));
        shard.offset_bits += piece.offset * element_bits_;
      }
      for (const int dim : map.order) {
        const auto d = static_cast<std::size_t>(dim);
        for (const StorageDigit& digit : pieces[d][at[d]].digits)
          loops.push_back(
              {static_cast<std::uint8_t>(dim), digit.length, digit.stride * element_bits_});
      }
      shard.loops = loops_index(std::move(loops));
      shards_.boxes.push_back(std::move(shard));
      std::size_t d = dims.size();
      while (d-- > 0) {
        if (++at[d] < pieces[d].size()) break;
        at[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) return;
    }
  }

  void refuse_too_many(Rank rank, const std::vector<std::vector<DigitPiece>>& pieces) const {
    std::size_t boxes = 1;
    for (const std::vector<DigitPiece>& of_dim : pieces) {
      boxes *= of_dim.size();
      if (boxes > kMaxBoxes) fail(fmt::format("rank {} holds more than a million boxes", rank));
    }
    if (shards_.boxes.size() + boxes > kMaxBoxesOfAll)
      fail("the ranks hold more than 8 million boxes");
  }

  // ---- form 2 ----

  void from_boxes() {
    for (const auto& [rank, boxes] : sharding_.boxes) {
      const std::int64_t base = offset_bits_of(rank);
      RankStorage storage{rank, 0, {}, false, sharding_.memory.slot_bytes, 0};
      std::int64_t next_bits = 0;
      for (const PlacedBox& placed : boxes) {
        const Box box = checked_box(placed.box, rank);
        std::vector<std::int64_t> extents;
        for (std::size_t d = 0; d < box.dims(); ++d) extents.push_back(box.extent(d));
        const StorageMap map = storage_map(sharding_, extents, what_of(rank));
        if (volume(box) == 0) continue;
        if (!placed.offset_bytes && next_bits % 8 != 0)
          fail(fmt::format("rank {}: a box begins within a byte", rank));
        const std::int64_t begin = placed.offset_bytes ? *placed.offset_bytes * 8 : next_bits;
        if (begin < 0 || begin > (std::int64_t{1} << 53))
          fail(fmt::format("rank {}: offset {} of a box", rank, begin / 8));
        std::vector<Segments> dims;
        for (std::size_t d = 0; d < box.dims(); ++d) dims.push_back({{box.lo(d), box.hi(d), 0}});
        add_boxes(rank, dims, map, base + begin);
        next_bits = begin + storage_span(map) * element_bits_;
        storage.bytes = std::max(storage.bytes, byte_end(base + begin, map, rank));
      }
      shards_.storage.push_back(std::move(storage));
    }
  }

  Box checked_box(const ExplicitBox& bounds, Rank rank) const {
    if (bounds.size() != shape_.size())
      fail(fmt::format("rank {}: a box of {} dimensions in a tensor of {}", rank, bounds.size(),
                       shape_.size()));
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
    return box;
  }

  // Neighbouring ranks mostly have the same loops.
  std::uint32_t loops_index(PlaceLoops loops) {
    const auto found =
        loop_ids_.try_emplace(key_of(loops), static_cast<std::uint32_t>(shards_.loops.size()));
    if (found.second) shards_.loops.push_back(std::move(loops));
    return found.first->second;
  }

  static std::vector<std::int64_t> key_of(const PlaceLoops& loops) {
    std::vector<std::int64_t> key;
    for (const PlaceLoop& loop : loops) {
      key.push_back(loop.dim);
      key.push_back(loop.length);
      key.push_back(loop.stride_bits);
    }
    return key;
  }

  const Sharding& sharding_;
  std::span<const std::int64_t> shape_;
  std::int64_t element_bits_;
  const std::string& what_;
  Shards shards_;
  std::vector<std::int64_t> slots_;  // of the rank at hand
  std::map<std::vector<std::int64_t>, std::uint32_t> loop_ids_;
};

}  // namespace

Shards make_shards(const Sharding& sharding, std::span<const std::int64_t> shape,
                   std::int64_t element_bits, const std::string& what) {
  return ShardMaker(sharding, shape, element_bits, what).make();
}

}  // namespace transload
