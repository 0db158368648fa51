// Cutting one dimension of a tensor over the axes of a mesh.
//
// What a rank holds of a dimension is a list of segments: ranges of global indices, and where each
// begins in the rank's own numbering of what it holds. One axis takes a part of what the axes
// before it left; a strided shard takes several pieces, so a list may grow.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/sharding.h"

namespace transload {

// Global indices [lo, hi); the first is number `local` of what the rank holds.
struct Segment {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  std::int64_t local = 0;
  std::int64_t length() const { return hi - lo; }
  friend bool operator==(const Segment&, const Segment&) = default;
};

using Segments = std::vector<Segment>;

// Cuts [0, length) in `parts`; returns the bounds of part `index`. Both rules of SplitRule.
std::pair<std::int64_t, std::int64_t> split_range(std::int64_t length, std::int64_t parts,
                                                  std::int64_t index, SplitRule rule);

std::int64_t total_length(const Segments& segments);

// The part [begin, end) of the local numbering, renumbered from 0.
Segments take_range(const Segments& segments, std::int64_t begin, std::int64_t end);

// Several ascending parts of the local numbering one after the other, renumbered from 0. Parts that
// touch become one.
Segments take_ranges(const Segments& segments,
                     std::span<const std::pair<std::int64_t, std::int64_t>> ranges);

// What coordinate `index` of an axis of `size` takes of `length` local indices by a strided shard
// (models/sharding.h, StridedReading). An unstated reading is taken as factor-first: the caller has
// made sure that both agree.
std::vector<std::pair<std::int64_t, std::int64_t>> strided_ranges(std::int64_t length,
                                                                  std::int64_t split_factor,
                                                                  std::int64_t size,
                                                                  std::int64_t index,
                                                                  StridedReading reading);

// The segments with global indices below `extent`; local numbers stay (the rest is padding).
Segments clip(const Segments& segments, std::int64_t extent);

}  // namespace transload
