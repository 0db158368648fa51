// torch's placements, read from their printed form, and what each rank of a mesh then holds.
//
// Lengths reach hundreds of thousands, so a rank's part of a dimension is a list of half-open
// intervals rather than of indices: one interval for plain shards, several for strided ones.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/sharding.h"

namespace transload::importing {

// "Shard(dim=0)", "S(0)", "Replicate()", "R", "_StridedShard(dim=0, split_factor=2)". nullopt for
// anything else, Partial included. Negative dimensions count from the end of `dims`.
std::optional<AxisPlacement> parse_torch_placement(const std::string& text, std::size_t dims);

using Intervals = std::vector<std::array<std::int64_t, 2>>;

// What the rank at `coordinate` of the mesh holds of dimension `dim` of length `length`, the
// placements applied left to right, strided ones read factor-first.
Intervals held_part(std::int64_t length, int dim, const std::vector<AxisPlacement>& placements,
                    const std::vector<MeshAxis>& mesh, const std::vector<std::int64_t>& coordinate);

std::int64_t total_length(const Intervals& intervals);

}  // namespace transload::importing
