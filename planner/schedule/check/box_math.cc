#include "planner/schedule/check/box_math.h"

#include <algorithm>
#include <numeric>

namespace transload {
namespace {

constexpr std::size_t kPairwise = 8;  // up to so many boxes, comparing all pairs is cheaper

// One more extent (at most 2^50) still fits a signed 128-bit product.
constexpr __int128 kVolumeCap = static_cast<__int128>(1) << 76;

std::int64_t length(Bounds box, std::size_t dim) { return box[2 * dim + 1] - box[2 * dim]; }

bool is_empty(Bounds box) {
  for (std::size_t d = 0; d < box.size() / 2; ++d)
    if (length(box, d) <= 0) return true;
  return false;
}

// Appends the parts of `piece` outside `hole` (which meets it) to `pieces`.
void subtract(OwnedBounds piece, Bounds hole, std::vector<OwnedBounds>& pieces) {
  for (std::size_t d = 0; d < piece.size() / 2; ++d) {
    const std::size_t lo = 2 * d;
    const std::size_t hi = lo + 1;
    if (piece[lo] < hole[lo]) {
      OwnedBounds below = piece;
      below[hi] = hole[lo];
      pieces.push_back(std::move(below));
      piece[lo] = hole[lo];
    }
    if (piece[hi] > hole[hi]) {
      OwnedBounds above = piece;
      above[lo] = hole[hi];
      pieces.push_back(std::move(above));
      piece[hi] = hole[hi];
    }
  }
}

BoxPair find_overlap_pairwise(std::span<const Bounds> boxes) {
  for (std::size_t a = 0; a < boxes.size(); ++a)
    for (std::size_t b = a + 1; b < boxes.size(); ++b)
      if (boxes_intersect(boxes[a], boxes[b]))
        return {static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)};
  return {};
}

// The dimension in which the boxes start at the most different places: the sweep's active set is
// least.
std::size_t sweep_dimension(std::span<const Bounds> boxes) {
  std::size_t best = 0;
  std::size_t most = 0;
  std::vector<std::int64_t> starts(boxes.size());
  for (std::size_t d = 0; d < boxes[0].size() / 2; ++d) {
    std::transform(boxes.begin(), boxes.end(), starts.begin(),
                   [d](Bounds box) { return box[2 * d]; });
    std::sort(starts.begin(), starts.end());
    const auto distinct =
        static_cast<std::size_t>(std::unique(starts.begin(), starts.end()) - starts.begin());
    if (distinct > most) {
      most = distinct;
      best = d;
    }
  }
  return best;
}

void visit_range(Bounds box, std::size_t dim, __int128 begin, __int128 end, OwnedBounds& part,
                 const std::function<void(Bounds)>& visit) {
  const std::size_t dims = box.size() / 2;
  if (begin >= end) return;
  if (dim == dims) {
    visit(part);
    return;
  }
  __int128 inner = 1;
  for (std::size_t d = dim + 1; d < dims; ++d) inner *= length(box, d);
  const auto fix = [&](__int128 from, __int128 to) {
    part[2 * dim] = box[2 * dim] + static_cast<std::int64_t>(from);
    part[2 * dim + 1] = box[2 * dim] + static_cast<std::int64_t>(to);
    for (std::size_t d = 2 * dim + 2; d < box.size(); ++d) part[d] = box[d];
  };
  __int128 first = begin / inner;
  const __int128 last = end / inner;
  const __int128 head = begin % inner;
  const __int128 tail = end % inner;
  if (first == last) {
    fix(first, first + 1);
    visit_range(box, dim + 1, head, tail, part, visit);
    return;
  }
  if (head > 0) {
    fix(first, first + 1);
    visit_range(box, dim + 1, head, inner, part, visit);
    ++first;
  }
  if (first < last) {
    fix(first, last);
    visit(part);
  }
  if (tail > 0) {
    fix(last, last + 1);
    visit_range(box, dim + 1, 0, tail, part, visit);
  }
}

}  // namespace

__int128 box_volume(Bounds box) {
  if (is_empty(box)) return 0;
  __int128 volume = 1;
  for (std::size_t d = 0; d < box.size() / 2; ++d) {
    volume *= length(box, d);
    if (volume > kVolumeCap) return kVolumeCap;
  }
  return volume;
}

bool box_contains(Bounds outer, Bounds inner) {
  for (std::size_t i = 0; i < outer.size(); i += 2)
    if (inner[i] < outer[i] || inner[i + 1] > outer[i + 1]) return false;
  return true;
}

bool boxes_intersect(Bounds a, Bounds b) {
  for (std::size_t i = 0; i < a.size(); i += 2)
    if (std::max(a[i], b[i]) >= std::min(a[i + 1], b[i + 1])) return false;
  return true;
}

OwnedBounds box_intersection(Bounds a, Bounds b) {
  OwnedBounds common(a.size());
  for (std::size_t i = 0; i < a.size(); i += 2) {
    common[i] = std::max(a[i], b[i]);
    common[i + 1] = std::max(common[i], std::min(a[i + 1], b[i + 1]));
  }
  return common;
}

bool box_covered(Bounds box, std::span<const Bounds> cover) {
  if (is_empty(box)) return true;
  for (const Bounds candidate : cover)
    if (box_contains(candidate, box)) return true;
  if (cover.size() < 2) return false;
  std::vector<OwnedBounds> pieces{OwnedBounds(box.begin(), box.end())};
  std::vector<OwnedBounds> left;
  for (const Bounds candidate : cover) {
    left.clear();
    for (OwnedBounds& piece : pieces) {
      if (boxes_intersect(piece, candidate))
        subtract(std::move(piece), candidate, left);
      else
        left.push_back(std::move(piece));
    }
    pieces.swap(left);
    if (pieces.empty()) return true;
  }
  return false;
}

BoxPair find_overlap(std::span<const Bounds> boxes) {
  if (boxes.size() <= kPairwise || boxes[0].empty()) return find_overlap_pairwise(boxes);
  const std::size_t dim = sweep_dimension(boxes);
  std::vector<std::size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(boxes[a][2 * dim], a) < std::pair(boxes[b][2 * dim], b);
  });
  std::vector<std::size_t> active;
  for (const std::size_t next : order) {
    const std::int64_t at = boxes[next][2 * dim];
    std::erase_if(active, [&](std::size_t other) { return boxes[other][2 * dim + 1] <= at; });
    for (const std::size_t other : active)
      if (boxes_intersect(boxes[other], boxes[next]))
        return {static_cast<std::int64_t>(std::min(other, next)),
                static_cast<std::int64_t>(std::max(other, next))};
    active.push_back(next);
  }
  return {};
}

void for_each_box_of_range(Bounds box, __int128 begin, __int128 end,
                           const std::function<void(Bounds)>& visit) {
  OwnedBounds part(box.begin(), box.end());
  visit_range(box, 0, begin, end, part, visit);
}

}  // namespace transload
