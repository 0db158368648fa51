// N-dimensional half-open boxes of a tensor's global coordinates, and arithmetic on them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace transload {

// Bounds lo, hi per dimension. A 0-dimensional box has one element.
struct Box {
  std::vector<std::int64_t> bounds;

  std::size_t dims() const { return bounds.size() / 2; }
  std::int64_t lo(std::size_t d) const { return bounds[2 * d]; }
  std::int64_t hi(std::size_t d) const { return bounds[2 * d + 1]; }
  std::int64_t extent(std::size_t d) const { return hi(d) - lo(d); }
  friend bool operator==(const Box&, const Box&) = default;
  friend bool operator<(const Box& a, const Box& b) { return a.bounds < b.bounds; }
};

Box whole_box(std::span<const std::int64_t> shape);
std::int64_t volume(const Box& box);  // elements; 0 if any extent is
Box intersection(const Box& a, const Box& b);
bool contains(const Box& outer, const Box& inner);

// Elements of the longest contiguous runs that `inner` (inside `outer`) consists of when `outer` is
// stored dense and row-major: the extents of the last dimension and of every further one that is
// whole.
std::int64_t contiguous_run(const Box& outer, const Box& inner);

// "[0:4, 2:8]".
std::string to_string(const Box& box);

}  // namespace transload
