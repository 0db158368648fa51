// Box arithmetic of the checker: half-open boxes as bounds lo, hi, lo, hi, ... per dimension.
//
// Written apart from planner/layout on purpose: the checker must not share a mistake with the
// planner.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace transload {

using Bounds = std::span<const std::int64_t>;
using OwnedBounds = std::vector<std::int64_t>;

// Elements of a box; saturates at 2^76 so that absurd plans cannot overflow.
__int128 box_volume(Bounds box);
bool box_contains(Bounds outer, Bounds inner);
bool boxes_intersect(Bounds a, Bounds b);
// The common part; empty in some dimension where they do not meet.
OwnedBounds box_intersection(Bounds a, Bounds b);

// Is `box` inside the union of `cover`? Exact: subtracts the boxes of the cover one by one.
bool box_covered(Bounds box, std::span<const Bounds> cover);

// Two boxes of a set that share an element, by position; {-1, -1} if there are none. Pairwise for
// small sets, else a sweep along the dimension with the most cuts.
struct BoxPair {
  std::int64_t first = -1;
  std::int64_t second = -1;
};
BoxPair find_overlap(std::span<const Bounds> boxes);

// Visits disjoint boxes that together are the elements [begin, end) of `box` in row-major order; at
// most 2 * dims - 1 of them.
void for_each_box_of_range(Bounds box, __int128 begin, __int128 end,
                           const std::function<void(Bounds)>& visit);

}  // namespace transload
