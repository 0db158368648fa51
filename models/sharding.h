// How one tensor is spread over ranks and where each rank stores its part, in the words that
// trainers and engines use.
//
// A `Sharding` says who holds what in one of three forms: a mesh of ranks with one placement per
// axis, explicit boxes per rank, or a table of slots (experts). Beside it, `memory` says how a rank
// stores its part: dense in a buffer of its own unless told otherwise, or as a strided view into a
// buffer that several tensors share. planner/layout turns both into boxes and byte addresses;
// nothing here computes which rank holds what.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
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

// The two readings of a strided shard S(d, split_factor = k) over an axis of size m. factor-first:
// the dimension is cut in k pieces (ceil rule) and each piece over the axis, which is what torch's
// _StridedShard does for FSDP over TP. unflatten: the dimension is seen as [k, ceil(n / k)] and the
// second part is cut. They agree where k * m divides the length.
enum class StridedReading : std::uint8_t { kUnstated, kFactorFirst, kUnflatten };

// One axis' placement: replicated, or sharding dimension `dim` of the tensor.
struct AxisPlacement {
  static constexpr int kReplicate = -1;
  int dim = kReplicate;
  std::int64_t split_factor = 1;  // above 1: a strided shard
  StridedReading reading = StridedReading::kUnstated;
  bool shards() const { return dim != kReplicate; }
  friend bool operator==(const AxisPlacement&, const AxisPlacement&) = default;
};

// How a dimension of length n is cut in k parts. chunk: every part ceil(n/k), the last ones short
// or empty (torch.chunk). balanced: the first n mod k parts are one longer.
enum class SplitRule : std::uint8_t { kChunk, kBalanced };

// What padded storage holds past the tensor: zeros that are written, or whatever was there.
enum class PaddingFill : std::uint8_t { kKeep, kZero };

struct PaddedExtent {
  std::int64_t extent = 0;  // that the split rule applies to
  PaddingFill fill = PaddingFill::kKeep;
  friend bool operator==(const PaddedExtent&, const PaddedExtent&) = default;
};

// Half-open bounds per dimension.
using ExplicitBox = std::vector<std::array<std::int64_t, 2>>;

// A box of form 2, and where it begins in the rank's buffer. Without an offset the boxes of a rank
// lie one after the other, each dense.
struct PlacedBox {
  ExplicitBox box;
  std::optional<std::int64_t> offset_bytes;
  friend bool operator==(const PlacedBox&, const PlacedBox&) = default;
};

// How a rank's local shard lies in its buffer. The local shard is what the rank would hold as one
// dense array: its extents along each dimension, padding and slots included.
struct MemoryView {
  std::int64_t offset_bytes = 0;              // of the shard's first element in the buffer
  std::map<Rank, std::int64_t> rank_offsets;  // instead of offset_bytes, where ranks differ
  // Elements between neighbours along each dimension, a dimension with factors once per factor;
  // empty: dense, in `stored_order`.
  std::vector<std::int64_t> strides;
  // Dimension -> the factors it is seen as, outer to inner; their product is the local extent. An
  // outermost factor of 0 is whatever the local extent leaves.
  std::map<int, std::vector<std::int64_t>> factors;
  // Stacked tensors: the buffer holds one such view per slot, this many bytes apart. Which slot a
  // tensor has stands in its BufferRef.
  std::int64_t slot_bytes = 0;
  friend bool operator==(const MemoryView&, const MemoryView&) = default;
};

struct Sharding {
  // Form 1: coordinates are row-major over `ranks`, the last axis fastest; placements are applied
  // left to right, or the axes in `order` (numbers of axes) first, so that two axes may cut the
  // same dimension.
  std::vector<MeshAxis> mesh;
  std::vector<Rank> ranks;
  std::vector<AxisPlacement> placements;
  std::vector<int> order;
  SplitRule split = SplitRule::kChunk;
  std::map<int, SplitRule> split_of_dim;  // overrides `split`
  // Dimension -> explicit extents of the parts, for the one axis that cuts it.
  std::map<int, std::vector<std::int64_t>> sizes;
  // Dimension -> extent that the split rule applies to where storage is padded (vocabularies). Rows
  // past the tensor's own extent belong to no tensor and are never moved.
  std::map<int, PaddedExtent> padded;
  // With form 1: dimension 0 is one of slots, slot i holding index slots[i] of the tensor.
  std::vector<std::int64_t> slots;
  // Form 2, instead of mesh and placements.
  std::map<Rank, std::vector<PlacedBox>> boxes;
  // Form 3: the indices of dimension 0 that each rank holds, in the order of its slots.
  std::map<Rank, std::vector<std::int64_t>> rank_slots;

  // Dimensions in the order in which they are stored, outermost first; empty: as they stand.
  std::vector<int> stored_order;
  MemoryView memory;

  bool explicit_boxes() const { return mesh.empty() && rank_slots.empty(); }
  friend bool operator==(const Sharding&, const Sharding&) = default;
};

// The buffer that a tensor lies in on one side, by number in a table of the whole side: the same
// number means one shared buffer on every rank that holds both tensors. kOwnBuffer: nobody shares
// it. `slot` counts in units of MemoryView::slot_bytes.
struct BufferRef {
  static constexpr std::uint32_t kOwnBuffer = UINT32_MAX;
  std::uint32_t buffer = kOwnBuffer;
  std::uint32_t slot = 0;
  friend bool operator==(const BufferRef&, const BufferRef&) = default;
};

// How a destination buffer is written (executor.md section 5). direct: in place. shadow: to a
// buffer in load layout, from which a step of the engine derives the live tensor. loader: whole
// tensors through the engine's own loader.
enum class DestinationClass : std::uint8_t { kDirect, kShadow, kLoader };

// A buffer that several tensors share, on every rank that holds any of them.
struct SharedBuffer {
  std::string name;  // the engine's: "decoder.layers.0.self_attention.linear_qkv.weight"
  DestinationClass destination_class = DestinationClass::kDirect;
};

// A tensor whose live value in the engine is computed from what is loaded, and how.
struct Conversion {
  std::uint32_t tensor = 0;
  std::string what;
};

// Where a rank stands in its trainer's parallel groups, which some published planners choose
// sources by. Numbers count from 0 in the order of each group's first rank.
struct RankGroups {
  Rank rank = 0;
  std::int32_t stage = 0;          // pipeline stage
  std::int32_t data_parallel = 0;  // group of ranks that hold equal dense weights
  friend bool operator==(const RankGroups&, const RankGroups&) = default;
};

// A whole model's layout on one side: tensor i has shardings[sharding_of[i]] and lies in
// buffer_of[i]; kNotHeld: the engine does not hold it (a layer type it drops). Few shardings, many
// tensors.
struct ShardedModel {
  static constexpr std::uint32_t kNotHeld = UINT32_MAX;
  std::vector<Sharding> shardings;
  std::vector<std::uint32_t> sharding_of;
  std::vector<BufferRef> buffer_of;  // empty: every tensor has a buffer of its own
  std::vector<SharedBuffer> buffers;
  std::vector<Conversion> conversions;
  std::vector<std::uint32_t> dropped;   // tensors that the engine has no place for
  std::vector<RankGroups> rank_groups;  // ascending by rank; empty: the engine has no such groups
  // Consecutive ranks that form one inference engine, a replica; 0: the side has no engines.
  std::int64_t engine_ranks = 0;
  // Tensors whose layout in the engine we do not know, and why; kNotHeld. Only a job that leaves
  // them out can be planned.
  std::vector<Conversion> unknown;
};

}  // namespace transload
