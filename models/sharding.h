// How one tensor is spread over ranks, in the words that trainers and engines use.
//
// A `Sharding` is either a mesh of ranks with one placement per axis, or explicit boxes per rank.
// planner/layout turns it into boxes; nothing here computes which rank holds what.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace transload {

using Rank = std::int32_t;

struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

// One axis' placement: replicated, or sharding dimension `dim` of the tensor.
struct AxisPlacement {
  static constexpr int kReplicate = -1;
  int dim = kReplicate;
  bool shards() const { return dim != kReplicate; }
  friend bool operator==(const AxisPlacement&, const AxisPlacement&) = default;
};

// How a dimension of length n is cut in k parts. chunk: every part ceil(n/k), the last ones short
// or empty (torch.chunk). balanced: the first n mod k parts are one longer.
enum class SplitRule : std::uint8_t { kChunk, kBalanced };

// Half-open bounds per dimension.
using ExplicitBox = std::vector<std::array<std::int64_t, 2>>;

struct Sharding {
  // Form 1: coordinates are row-major over `ranks`, the last axis fastest; placements are applied
  // left to right, so that two axes may cut the same dimension.
  std::vector<MeshAxis> mesh;
  std::vector<Rank> ranks;
  std::vector<AxisPlacement> placements;
  SplitRule split = SplitRule::kChunk;
  // Dimension -> extent that the split rule applies to where storage is padded (vocabularies). Rows
  // past the tensor's own extent belong to no tensor and are never moved.
  std::map<int, std::int64_t> padded;
  // Form 2, instead of mesh and placements.
  std::map<Rank, std::vector<ExplicitBox>> boxes;

  bool explicit_boxes() const { return mesh.empty(); }
  friend bool operator==(const Sharding&, const Sharding&) = default;
};

// A whole model's layout on one side: parameter i has shardings[sharding_of[i]]; kNotHeld: the
// engine does not hold it (a layer type it drops). Few shardings, many parameters.
struct ShardedModel {
  static constexpr std::uint32_t kNotHeld = UINT32_MAX;
  std::vector<Sharding> shardings;
  std::vector<std::uint32_t> sharding_of;
};

}  // namespace transload
