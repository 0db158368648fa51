// Building the engines' shardings: meshes without idle axes, each kept once.
//
// A model has tens of thousands of parameters and a few hundred ways in which they are spread.
// Engines describe a way by a small key and build the sharding only when the key is new.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/sharding.h"

namespace transload {

// One axis of a mesh together with what it does to the tensor.
struct PlacedAxis {
  std::string name;
  std::int64_t size = 1;
  int cut = AxisPlacement::kReplicate;
};

// A mesh over `ranks` (row-major, last axis fastest) without its axes of size 1; the last axis
// stays where all have size 1.
Sharding mesh_sharding(const std::vector<PlacedAxis>& axes, std::vector<Rank> ranks);

// Interned shardings by key. Equal keys must mean equal shardings, and different keys different
// ones.
class ShardingTable {
 public:
  using Key = std::array<std::int64_t, 8>;

  // `build` makes the sharding where the key is new.
  template <typename Build>
  std::uint32_t index_of(const Key& key, const Build& build) {
    const auto [place, is_new] =
        indices_.try_emplace(key, static_cast<std::uint32_t>(shardings_.size()));
    if (is_new) shardings_.push_back(build());
    return place->second;
  }

  std::vector<Sharding> take() { return std::move(shardings_); }

 private:
  std::map<Key, std::uint32_t> indices_;
  std::vector<Sharding> shardings_;
};

}  // namespace transload
