// One side of one tensor in the terms of NVIDIA's NCCL M2N: a two-dimensional mesh of ranks, one
// axis of replicas and one axis that shards one dimension evenly.
//
// M2N can express nothing else, so this is also where most of its refusals come from. A layout that
// replicates the tensor everywhere is one shard with as many replicas as ranks. Which axis of the
// mesh is the outer one decides who is whose replica and, on the destination, how the split
// communicators are cut. Facts: NVIDIA/nccl-extensions 44d2de0, nccl_m2n (mesh normalisation).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/layout/layout.h"
#include "planner/strategy/unsupported.h"

namespace transload {

struct M2nMesh {
  std::int32_t replicas = 1;
  std::int32_t shards = 1;
  std::int32_t shard_dim = 0;    // dimension that the shards cut; 0 where there is one shard
  bool replicas_inside = false;  // replicas are the inner axis: rank = start + shard * R + replica
  std::vector<Rank> ranks;       // ascending, replicas * shards of them

  Rank rank(std::int32_t replica, std::int32_t shard) const {
    return ranks[static_cast<std::size_t>(replicas_inside ? shard * replicas + replica
                                                          : replica * shards + shard)];
  }
};

// Who holds each part of a tensor: per dimension its cut points, and per cell of that grid
// (row-major) the ranks, ascending.
struct HolderGrid {
  std::vector<std::vector<std::int64_t>> cuts;
  std::vector<std::span<const Rank>> cells;
};
HolderGrid holder_grid(const Layout& layout, const RankSets& sets);

// The grid of tensors that are stacked along a new first dimension, one index each, in order.
// Neighbours with equal holders are one segment of that dimension. Nothing where their own cuts
// differ.
std::optional<HolderGrid> stacked_grid(std::span<const HolderGrid> parts);

// The mesh of a grid, or nothing where M2N cannot express it: then `refused` says what is in the
// way. `side` is "source" or "destination"; `tensor` goes into the refusals.
std::optional<M2nMesh> mesh_of(const HolderGrid& grid, const std::string& side,
                               const std::string& tensor, RefusalList& refused);

}  // namespace transload
