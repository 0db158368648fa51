#include "planner/strategy/partition.h"

#include <algorithm>

namespace transload {
namespace {

bool pads(const Layout& layout) {
  return std::any_of(layout.storage.begin(), layout.storage.end(),
                     [](const RankStorage& storage) { return !storage.padding.empty(); });
}

}  // namespace

std::vector<CutDimension> cut_dimensions(const Layout& layout) {
  std::vector<CutDimension> dimensions;
  for (std::size_t d = 0; d < layout.cuts.size(); ++d) {
    const std::vector<std::int64_t>& cuts = layout.cuts[d];
    if (cuts.size() <= 2) continue;
    CutDimension cut{d, static_cast<std::int64_t>(cuts.size()) - 1, true};
    for (std::size_t i = 1; i + 1 < cuts.size(); ++i) {
      const std::int64_t length = cuts[i + 1] - cuts[i];
      const bool last_is_padded = i + 2 == cuts.size() && length < cuts[1] && pads(layout);
      if (length != cuts[1] && !last_is_padded) cut.even = false;
    }
    dimensions.push_back(cut);
  }
  return dimensions;
}

std::int64_t padded_length(const TensorGroup& group, const Layout& layout, std::size_t dim) {
  const std::int64_t length = group.shape[dim];
  if (!pads(layout)) return length;
  std::int64_t row_bytes = element_bytes(group.dtype);
  for (std::size_t d = 0; d < group.shape.size(); ++d)
    if (d != dim) row_bytes *= group.shape[d];
  std::int64_t rows = 0;  // of the longest part
  for (const RankStorage& storage : layout.storage)
    rows = std::max(rows, row_bytes > 0 ? storage.bytes / row_bytes : 0);
  const auto parts = static_cast<std::int64_t>(layout.cuts[dim].size()) - 1;
  return std::max(length, rows * parts);
}

}  // namespace transload
