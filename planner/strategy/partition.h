// How one side cuts a tensor, as far as published planners care: which dimensions, into how many
// parts, evenly or not. Internal to planner/strategy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/layout/problem.h"

namespace transload {

struct CutDimension {
  std::size_t dim = 0;
  std::int64_t parts = 1;
  bool even = true;  // all parts of equal length, padding of the last one included
};

// The dimensions that the layout cuts, ascending. A strided shard counts all its pieces as parts.
std::vector<CutDimension> cut_dimensions(const Layout& layout);

// The tensor's length along a dimension with the padding that the side stores (vocabularies).
std::int64_t padded_length(const TensorGroup& group, const Layout& layout, std::size_t dim);

}  // namespace transload
