#include "models/engines/mesh.h"

#include "common/check.h"

namespace transload {

Sharding mesh_sharding(const std::vector<PlacedAxis>& axes, std::vector<Rank> ranks) {
  TRANSLOAD_CHECK(!axes.empty(), "a mesh has axes");
  Sharding sharding;
  std::int64_t product = 1;
  for (const PlacedAxis& axis : axes) {
    product *= axis.size;
    if (axis.size == 1) continue;
    sharding.mesh.push_back({axis.name, axis.size});
    sharding.placements.push_back({axis.cut});
  }
  if (sharding.mesh.empty()) {
    sharding.mesh.push_back({axes.back().name, 1});
    sharding.placements.emplace_back();
  }
  TRANSLOAD_CHECK(product == static_cast<std::int64_t>(ranks.size()),
                  "the mesh has a place for every rank");
  sharding.ranks = std::move(ranks);
  return sharding;
}

}  // namespace transload
