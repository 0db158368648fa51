#include "planner/layout/mesh_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/error.h"

namespace transload {
namespace {

// Pieces of a strided shard beyond which a layout is refused rather than expanded.
constexpr std::int64_t kMaxPieces = 1'000'000;

class MeshValidator {
 public:
  MeshValidator(const Sharding& sharding, std::span<const std::int64_t> shape,
                const std::string& what)
      : sharding_(sharding), shape_(shape), what_(what) {}

  void validate() const {
    validate_size();
    validate_placements();
    validate_order();
    validate_padding();
    validate_sizes();
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw InputError(what_ + ": " + problem);
  }

  int dims() const { return static_cast<int>(shape_.size()); }
  std::int64_t extent(int dim) const {
    const auto padded = sharding_.padded.find(dim);
    return padded == sharding_.padded.end() ? shape_[static_cast<std::size_t>(dim)]
                                            : padded->second.extent;
  }

  void validate_size() const {
    std::int64_t size = 1;
    const auto ranks = static_cast<std::int64_t>(sharding_.ranks.size());
    for (const MeshAxis& axis : sharding_.mesh) {
      if (axis.size < 1)
        fail(fmt::format("mesh axis {} has size {}; expected at least 1", axis.name, axis.size));
      if (axis.size > ranks)
        fail(fmt::format("mesh axis {} has size {} but there are only {} ranks", axis.name,
                         axis.size, ranks));
      size *= axis.size;
      if (size > ranks) break;
    }
    if (size != ranks)
      fail(fmt::format("the mesh has {} coordinates but there are {} ranks", size, ranks));
  }

  void validate_placements() const {
    if (sharding_.placements.size() != sharding_.mesh.size())
      fail(fmt::format("{} placements for {} mesh axes; expected one per axis",
                       sharding_.placements.size(), sharding_.mesh.size()));
    for (std::size_t axis = 0; axis < sharding_.placements.size(); ++axis) {
      const AxisPlacement& placement = sharding_.placements[axis];
      if (!placement.shards()) continue;
      if (placement.dim < 0 || placement.dim >= dims())
        fail(fmt::format("S({}) on a tensor of {} dimensions", placement.dim, dims()));
      if (placement.split_factor < 1 || placement.split_factor > (std::int64_t{1} << 31))
        fail(fmt::format("split_factor {} of S({})", placement.split_factor, placement.dim));
      if (placement.split_factor > 1) validate_strided(placement, sharding_.mesh[axis]);
    }
  }

  void validate_strided(const AxisPlacement& placement, const MeshAxis& axis) const {
    const std::int64_t length = extent(placement.dim);
    if (std::min(placement.split_factor, length) > kMaxPieces)
      fail(fmt::format("split_factor {} cuts dimension {} of {} in more than a million pieces",
                       placement.split_factor, placement.dim, length));
    const std::int64_t pieces = placement.split_factor * axis.size;
    if (placement.reading != StridedReading::kUnstated || length % pieces == 0) return;
    fail(fmt::format(
        "S({}, split_factor={}) over axis {} of {} does not divide {} evenly and so has two "
        "readings: reading=factor-first cuts it in {} and each piece over the axis (torch "
        "_StridedShard), reading=unflatten views it as [{}, {}] and cuts the second; state one",
        placement.dim, placement.split_factor, axis.name, axis.size, length, placement.split_factor,
        placement.split_factor, (length + placement.split_factor - 1) / placement.split_factor));
  }

  void validate_order() const {
    std::vector<bool> seen(sharding_.mesh.size(), false);
    for (const int axis : sharding_.order) {
      if (axis < 0 || static_cast<std::size_t>(axis) >= seen.size())
        fail(fmt::format("order names axis {}; the mesh has {}", axis, seen.size()));
      if (seen[static_cast<std::size_t>(axis)])
        fail(fmt::format("order names axis {} twice",
                         sharding_.mesh[static_cast<std::size_t>(axis)].name));
      seen[static_cast<std::size_t>(axis)] = true;
    }
  }

  void validate_padding() const {
    for (const auto& [dim, padding] : sharding_.padded) {
      if (dim < 0 || dim >= dims()) fail(fmt::format("padded dimension {} does not exist", dim));
      const std::int64_t length = shape_[static_cast<std::size_t>(dim)];
      if (padding.extent < length)
        fail(fmt::format("dimension {} is padded to {}, less than its length {}", dim,
                         padding.extent, length));
    }
  }

  void validate_sizes() const {
    for (const auto& [dim, sizes] : sharding_.sizes) {
      if (dim < 0 || dim >= dims()) fail(fmt::format("sizes: dimension {} does not exist", dim));
      std::vector<std::size_t> axes;
      for (std::size_t axis = 0; axis < sharding_.placements.size(); ++axis)
        if (sharding_.placements[axis].dim == dim) axes.push_back(axis);
      if (axes.size() != 1 || sharding_.placements[axes[0]].split_factor != 1)
        fail(fmt::format(
            "sizes of dimension {}: expected exactly one plain S({}) that they belong to, found {}",
            dim, dim, axes.size()));
      if (static_cast<std::int64_t>(sizes.size()) != sharding_.mesh[axes[0]].size)
        fail(fmt::format("sizes of dimension {}: {} parts for axis {} of {}", dim, sizes.size(),
                         sharding_.mesh[axes[0]].name, sharding_.mesh[axes[0]].size));
      std::int64_t sum = 0;
      for (const std::int64_t size : sizes) {
        if (size < 0 || size > extent(dim) - sum)
          fail(fmt::format("sizes of dimension {} do not make up its length {}", dim, extent(dim)));
        sum += size;
      }
      if (sum != extent(dim))
        fail(fmt::format("sizes of dimension {} sum to {}, its length is {}", dim, sum,
                         extent(dim)));
    }
  }

  const Sharding& sharding_;
  std::span<const std::int64_t> shape_;
  const std::string& what_;
};

}  // namespace

void validate_mesh(const Sharding& sharding, std::span<const std::int64_t> shape,
                   const std::string& what) {
  MeshValidator(sharding, shape, what).validate();
}

std::vector<int> application_order(const Sharding& sharding) {
  std::vector<int> order = sharding.order;
  for (int axis = 0; axis < static_cast<int>(sharding.mesh.size()); ++axis)
    if (std::find(order.begin(), order.end(), axis) == order.end()) order.push_back(axis);
  return order;
}

}  // namespace transload
