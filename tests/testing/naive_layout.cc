#include "tests/testing/naive_layout.h"

#include <algorithm>
#include <numeric>

namespace transload::testing {
namespace {

using Indices = std::vector<std::int64_t>;
constexpr std::int64_t kPad = -1;

Indices part(const Indices& all, std::int64_t begin, std::int64_t end) {
  const auto size = static_cast<std::int64_t>(all.size());
  begin = std::min(begin, size);
  end = std::min(end, size);
  return begin >= end ? Indices{} : Indices(all.begin() + begin, all.begin() + end);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Indices chunk(const Indices& all, std::int64_t parts, std::int64_t index) {
  const std::int64_t each = ceil_div(static_cast<std::int64_t>(all.size()), parts);
  return part(all, each * index, each * (index + 1));
}

Indices balanced(const Indices& all, std::int64_t parts, std::int64_t index) {
  // Deal the lengths out one by one.
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(parts), 0);
  for (std::size_t i = 0; i < all.size(); ++i) ++lengths[i % lengths.size()];
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < index; ++i) begin += lengths[static_cast<std::size_t>(i)];
  return part(all, begin, begin + lengths[static_cast<std::size_t>(index)]);
}

Indices strided(const Indices& all, const AxisPlacement& placement, std::int64_t size,
                std::int64_t index) {
  Indices taken;
  const std::int64_t piece =
      ceil_div(static_cast<std::int64_t>(all.size()), placement.split_factor);
  for (std::int64_t i = 0; i < placement.split_factor; ++i) {
    Indices whole = part(all, piece * i, piece * (i + 1));
    if (placement.reading == StridedReading::kUnflatten)
      whole.resize(static_cast<std::size_t>(piece), kPad - 1);  // the view is full, its end is void
    for (const std::int64_t value : chunk(whole, size, index))
      if (value != kPad - 1) taken.push_back(value);
  }
  return taken;
}

class NaiveMaker {
 public:
  NaiveMaker(const Sharding& sharding, std::span<const std::int64_t> shape, std::int64_t bits)
      : sharding_(sharding), shape_(shape), bits_(bits) {}

  std::map<Rank, std::vector<NaiveElement>> make() {
    if (!sharding_.rank_slots.empty()) {
      for (const auto& [rank, ids] : sharding_.rank_slots) {
        std::vector<Indices> dims = whole();
        dims[0] = ids;
        store(rank, dims, 0);
      }
    } else if (sharding_.mesh.empty()) {
      for (const auto& [rank, boxes] : sharding_.boxes) store_boxes(rank, boxes);
    } else {
      for (std::size_t i = 0; i < sharding_.ranks.size(); ++i)
        store(sharding_.ranks[i], dims_of(static_cast<std::int64_t>(i)), 0);
    }
    return std::move(result_);
  }

 private:
  std::vector<Indices> whole() const {
    std::vector<Indices> dims;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      Indices& indices = dims.emplace_back(static_cast<std::size_t>(shape_[d]));
      std::iota(indices.begin(), indices.end(), 0);
      const auto padded = sharding_.padded.find(static_cast<int>(d));
      if (padded != sharding_.padded.end())
        indices.resize(static_cast<std::size_t>(padded->second.extent), kPad);
    }
    if (!sharding_.slots.empty()) dims[0] = sharding_.slots;
    return dims;
  }

  std::vector<Indices> dims_of(std::int64_t position) const {
    std::vector<std::int64_t> coordinates;
    for (auto axis = sharding_.mesh.rbegin(); axis != sharding_.mesh.rend(); ++axis) {
      coordinates.insert(coordinates.begin(), position % axis->size);
      position /= axis->size;
    }
    std::vector<Indices> dims = whole();
    std::vector<bool> done(sharding_.mesh.size(), false);
    for (const int axis : sharding_.order)
      apply(static_cast<std::size_t>(axis), coordinates, dims, done);
    for (std::size_t axis = 0; axis < sharding_.mesh.size(); ++axis)
      if (!done[axis]) apply(axis, coordinates, dims, done);
    return dims;
  }

  void apply(std::size_t axis, const std::vector<std::int64_t>& coordinates,
             std::vector<Indices>& dims, std::vector<bool>& done) const {
    done[axis] = true;
    const AxisPlacement& placement = sharding_.placements[axis];
    if (!placement.shards()) return;
    Indices& indices = dims[static_cast<std::size_t>(placement.dim)];
    const std::int64_t size = sharding_.mesh[axis].size;
    const std::int64_t index = coordinates[axis];
    const auto sizes = sharding_.sizes.find(placement.dim);
    const auto rule = sharding_.split_of_dim.find(placement.dim);
    const SplitRule split = rule == sharding_.split_of_dim.end() ? sharding_.split : rule->second;
    if (placement.split_factor > 1) {
      indices = strided(indices, placement, size, index);
    } else if (sizes != sharding_.sizes.end()) {
      const auto begin = sizes->second.begin();
      const std::int64_t from = std::accumulate(begin, begin + index, std::int64_t{0});
      indices = part(indices, from, from + begin[index]);
    } else {
      indices =
          split == SplitRule::kChunk ? chunk(indices, size, index) : balanced(indices, size, index);
    }
  }

  void store_boxes(Rank rank, const std::vector<PlacedBox>& boxes) {
    std::int64_t next = 0;
    result_[rank];
    for (const PlacedBox& placed : boxes) {
      std::vector<Indices> dims;
      std::int64_t elements = 1;
      for (const auto& [low, high] : placed.box) {
        Indices& indices = dims.emplace_back(static_cast<std::size_t>(high - low));
        std::iota(indices.begin(), indices.end(), low);
        elements *= high - low;
      }
      if (elements == 0) continue;
      const std::int64_t begin = placed.offset_bytes ? *placed.offset_bytes * 8 : next;
      store(rank, dims, begin);
      next = begin + elements * bits_;
    }
  }

  // Address of a local coordinate: its digits times their strides.
  std::int64_t address(const std::vector<std::int64_t>& at,
                       const std::vector<Indices>& dims) const {
    std::vector<std::int64_t> extents;
    for (const Indices& indices : dims)
      extents.push_back(static_cast<std::int64_t>(indices.size()));
    if (sharding_.memory.strides.empty()) {
      std::vector<int> order = sharding_.stored_order;
      if (order.empty()) {
        order.resize(dims.size());
        std::iota(order.begin(), order.end(), 0);
      }
      std::int64_t element = 0;
      for (const int d : order)
        element = element * extents[static_cast<std::size_t>(d)] + at[static_cast<std::size_t>(d)];
      return element;
    }
    std::int64_t element = 0;
    std::size_t stride = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const auto found = sharding_.memory.factors.find(static_cast<int>(d));
      const std::vector<std::int64_t> factors =
          found == sharding_.memory.factors.end() ? std::vector{extents[d]} : found->second;
      std::int64_t rest = at[d];
      for (std::size_t f = factors.size(); f-- > 0;) {
        element += rest % factors[f] * sharding_.memory.strides[stride + f];
        rest /= factors[f];
      }
      stride += factors.size();
    }
    return element;
  }

  void store(Rank rank, const std::vector<Indices>& dims, std::int64_t begin) {
    std::vector<NaiveElement>& elements = result_[rank];
    const auto own = sharding_.memory.rank_offsets.find(rank);
    begin += 8 * (own == sharding_.memory.rank_offsets.end() ? sharding_.memory.offset_bytes
                                                             : own->second);
    std::vector<std::int64_t> at(dims.size(), 0);
    for (const Indices& indices : dims)
      if (indices.empty()) return;
    while (true) {
      std::int64_t element = 0;
      bool real = true;
      for (std::size_t d = 0; d < dims.size(); ++d) {
        const std::int64_t index = dims[d][static_cast<std::size_t>(at[d])];
        real &= index != kPad;
        element = element * shape_[d] + index;
      }
      if (real) elements.push_back({element, begin + address(at, dims) * bits_});
      std::size_t d = dims.size();
      while (d-- > 0) {
        if (++at[d] < static_cast<std::int64_t>(dims[d].size())) break;
        at[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) return;
    }
  }

  const Sharding& sharding_;
  std::span<const std::int64_t> shape_;
  std::int64_t bits_;
  std::map<Rank, std::vector<NaiveElement>> result_;
};

}  // namespace

std::map<Rank, std::vector<NaiveElement>> naive_layout(const Sharding& sharding,
                                                       std::span<const std::int64_t> shape,
                                                       std::int64_t element_bits) {
  return NaiveMaker(sharding, shape, element_bits).make();
}

}  // namespace transload::testing
