// Where the elements of a rank's shard lie in memory.
//
// The *local shard* is the dense array of what a rank holds: one extent per dimension. A
// `StorageMap` gives it addresses: every dimension is seen as one or several digits (outer to
// inner), each with a stride. Boxes of the tensor become loops over those digits; where a box does
// not begin and end on digits it falls into several.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/sharding.h"

namespace transload {

// One loop over the coordinate of a dimension relative to its box. A dimension may recur: its loops
// are the digits of the coordinate, outer to inner.
struct PlaceLoop {
  std::uint8_t dim = 0;
  std::int64_t length = 0;
  std::int64_t stride_bits = 0;
  friend bool operator==(const PlaceLoop&, const PlaceLoop&) = default;
};
using PlaceLoops = std::vector<PlaceLoop>;

struct StorageDigit {
  std::int64_t length = 0;
  std::int64_t stride = 0;  // elements
};

struct StorageMap {
  std::vector<std::vector<StorageDigit>> dims;  // by dimension, digits outer to inner
  std::vector<int> order;                       // dimensions, outermost first
};

// The addresses of a local shard of `extents`. InputError, prefixed with `what`: strides that do
// not match the dimensions and factors, factors that do not make up the extent, an order that is no
// permutation.
StorageMap storage_map(const Sharding& sharding, std::span<const std::int64_t> extents,
                       const std::string& what);

// Elements from the first to one past the last address that the shard occupies; 0 if it is empty,
// about 2^60 where it is more than that.
std::int64_t storage_span(const StorageMap& map);

// One piece of a range of a dimension whose digits are those of its own coordinate.
struct DigitPiece {
  std::int64_t begin = 0;  // local
  std::int64_t end = 0;
  std::int64_t offset = 0;           // elements, of `begin`
  std::vector<StorageDigit> digits;  // outer to inner; at least one
};

// Cuts the local range [begin, end) of a dimension into pieces that begin and end on its digits.
std::vector<DigitPiece> digit_pieces(const std::vector<StorageDigit>& digits, std::int64_t begin,
                                     std::int64_t end);

// Elements of the runs that are contiguous both in memory and in the row-major order of the box
// [lo, hi) per dimension (relative to the shard's box of `extents`): what a strided copy moves at
// once. Where a box begins or ends within digits, the greatest length that divides all runs.
std::int64_t contiguous_run(const PlaceLoops& loops, std::span<const std::int64_t> extents,
                            std::span<const std::int64_t> bounds, std::int64_t element_bits);

}  // namespace transload
