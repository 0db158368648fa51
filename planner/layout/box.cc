#include "planner/layout/box.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/check.h"

namespace transload {

Box whole_box(std::span<const std::int64_t> shape) {
  Box box;
  box.bounds.reserve(2 * shape.size());
  for (std::int64_t extent : shape) {
    box.bounds.push_back(0);
    box.bounds.push_back(extent);
  }
  return box;
}

std::int64_t volume(const Box& box) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < box.dims(); ++d) elements *= std::max<std::int64_t>(box.extent(d), 0);
  return elements;
}

Box intersection(const Box& a, const Box& b) {
  TRANSLOAD_CHECK(a.dims() == b.dims(), "boxes of one tensor have its dimensions");
  Box box;
  box.bounds.resize(a.bounds.size());
  for (std::size_t d = 0; d < a.dims(); ++d) {
    box.bounds[2 * d] = std::max(a.lo(d), b.lo(d));
    box.bounds[2 * d + 1] = std::max(box.bounds[2 * d], std::min(a.hi(d), b.hi(d)));
  }
  return box;
}

bool contains(const Box& outer, const Box& inner) {
  for (std::size_t d = 0; d < outer.dims(); ++d)
    if (inner.lo(d) < outer.lo(d) || inner.hi(d) > outer.hi(d)) return false;
  return true;
}

std::int64_t contiguous_run(const Box& outer, const Box& inner) {
  std::int64_t run = 1;
  for (std::size_t d = inner.dims(); d-- > 0;) {
    run *= inner.extent(d);
    if (inner.extent(d) != outer.extent(d)) break;
  }
  return run;
}

std::string to_string(const Box& box) {
  std::string text = "[";
  for (std::size_t d = 0; d < box.dims(); ++d)
    text += fmt::format("{}{}:{}", d == 0 ? "" : ", ", box.lo(d), box.hi(d));
  return text + "]";
}

}  // namespace transload
