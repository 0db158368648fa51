// How the pieces of a fused published parameter lie in the chunk of it that an FSDP rank stores.
//
// FSDP keeps parameters as the checkpoint has them and cuts dimension 0. A logical tensor (q of a
// gated q_proj, one expert's up projection) is then a set of rows, or a strided view, of a chunk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/model.h"
#include "models/sharding.h"

namespace transload {

struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// Part `index` of `parts` by torch.chunk's rule: every part ceil(n / parts), the last short or
// empty.
Range chunk_range(const Range& whole, std::int64_t parts, std::int64_t index);

// One piece of a fusion within the published shape: along `dim`, blocks of `block` repeat `groups`
// times; the piece has `extent` of each, from `offset` on.
struct StoredPiece {
  std::vector<std::int64_t> shape;  // published
  int dim = 0;
  std::int64_t groups = 1;
  std::int64_t block = 1;
  std::int64_t offset = 0;
  std::int64_t extent = 1;
};

StoredPiece stored_piece(std::span<const std::int64_t> shape, const Fusion& fusion,
                         std::uint32_t piece);

// The piece in a chunk that starts at a block's first row.
MemoryView piece_view(const StoredPiece& piece, std::int64_t element_bytes);

// The piece's rows among rows `own` of the published parameter (dim 0 only), each run a box of the
// logical tensor with its offset in the chunk.
std::vector<PlacedBox> boxes_of_rows(const StoredPiece& piece,
                                     std::span<const std::int64_t> logical_shape, const Range& own,
                                     std::int64_t element_bytes);

// One expert's piece in a stack [E, ...]: a slot, and the view of the piece in it.
MemoryView slice_view(std::span<const std::int64_t> shape, const Fusion& fusion,
                      std::uint32_t piece, std::int64_t element_bytes);

}  // namespace transload
