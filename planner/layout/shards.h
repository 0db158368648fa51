// From one sharding to the shards of its ranks: boxes of the tensor, and where each lies in memory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/sharding.h"
#include "planner/layout/box.h"
#include "planner/layout/storage.h"

namespace transload {

// A box of the tensor that a rank holds. Its first element lies `offset_bits` into the rank's
// buffer (the slot of a stacked tensor not counted); the others by `loops`, whose digits are those
// of coordinates relative to the box.
struct RankBox {
  Rank rank = 0;
  Box box;
  std::int64_t offset_bits = 0;
  std::uint32_t loops = 0;  // index into Shards::loops, of a Layout into Layout::loops
  std::uint32_t pool = 0;   // number of the destination pool
};

// Bytes of a buffer that a padded tensor takes beyond its elements.
struct PaddingSpan {
  std::int64_t offset_bytes = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const PaddingSpan&, const PaddingSpan&) = default;
};

// What one rank's buffer needs for this tensor alone.
struct RankStorage {
  Rank rank = 0;
  std::int64_t bytes = 0;  // up to the end of its last element, padding included
  std::vector<PaddingSpan> padding;
  bool zero_padding = false;    // must be written as zeros
  std::int64_t slot_bytes = 0;  // between stacked tensors
  std::uint32_t pool = 0;
};

struct Shards {
  std::vector<RankBox> boxes;        // non-empty, by rank in the sharding's order
  std::vector<RankStorage> storage;  // of every rank of the sharding, those that hold nothing too
  std::vector<PlaceLoops> loops;
  bool slots = false;  // boxes are slots: neighbours are not one box
};

// The shards of a tensor of `shape` with elements of `element_bits`. `what` begins error messages
// ("tensor w, source"). InputError: mesh size and number of ranks disagree, placements and axes
// disagree, a dimension that does not exist, an uneven strided shard without a reading (both
// readings named), sizes that do not make up the dimension, a box outside the tensor, slots that do
// not exist, memory that does not fit the local shard.
Shards make_shards(const Sharding& sharding, std::span<const std::int64_t> shape,
                   std::int64_t element_bits, const std::string& what);

}  // namespace transload
