#include "models/engines/fsdp_store.h"

#include <algorithm>

namespace transload {
namespace {

std::int64_t elements_below(std::span<const std::int64_t> shape, std::size_t dim) {
  std::int64_t elements = 1;
  for (std::size_t i = dim + 1; i < shape.size(); ++i) elements *= shape[i];
  return elements;
}

}  // namespace

Range chunk_range(const Range& whole, std::int64_t parts, std::int64_t index) {
  const std::int64_t length = whole.high - whole.low;
  const std::int64_t part = (length + parts - 1) / parts;
  return {whole.low + std::min(index * part, length),
          whole.low + std::min((index + 1) * part, length)};
}

StoredPiece stored_piece(std::span<const std::int64_t> shape, const Fusion& fusion,
                         std::uint32_t piece) {
  StoredPiece stored;
  stored.shape.assign(shape.begin(), shape.end());
  stored.dim = fusion.dim;
  stored.groups = fusion.groups;
  if (fusion.pieces.empty()) {
    stored.groups = 1;
    stored.block = stored.extent = shape[static_cast<std::size_t>(fusion.dim)];
    return stored;
  }
  stored.block = 0;
  for (std::uint32_t i = 0; i < fusion.pieces.size(); ++i) {
    if (i == piece) stored.offset = stored.block;
    stored.block += fusion.pieces[i].extent;
  }
  stored.extent = fusion.pieces[piece].extent;
  return stored;
}

MemoryView piece_view(const StoredPiece& piece, std::int64_t element_bytes) {
  MemoryView view;
  const auto cut = static_cast<std::size_t>(piece.dim);
  view.offset_bytes = piece.offset * elements_below(piece.shape, cut) * element_bytes;
  for (std::size_t dim = 0; dim < piece.shape.size(); ++dim) {
    const std::int64_t below = elements_below(piece.shape, dim);
    if (dim == cut && piece.groups > 1) {
      view.strides.push_back(piece.block * below);
      view.factors[piece.dim] = {0, piece.extent};
    }
    view.strides.push_back(below);
  }
  return view;
}

std::vector<PlacedBox> boxes_of_rows(const StoredPiece& piece,
                                     std::span<const std::int64_t> logical_shape, const Range& own,
                                     std::int64_t element_bytes) {
  std::vector<PlacedBox> boxes;
  const std::int64_t row_bytes = elements_below(piece.shape, 0) * element_bytes;
  for (std::int64_t group = own.low / piece.block; group < piece.groups; ++group) {
    const std::int64_t first = group * piece.block + piece.offset;
    if (first >= own.high) break;
    const std::int64_t from = std::max(first, own.low);
    const std::int64_t to = std::min(first + piece.extent, own.high);
    if (from >= to) continue;
    PlacedBox placed;
    const std::int64_t in_piece = group * piece.extent + (from - first);
    placed.box.push_back({in_piece, in_piece + (to - from)});
    for (std::size_t dim = 1; dim < logical_shape.size(); ++dim)
      placed.box.push_back({0, logical_shape[dim]});
    placed.offset_bytes = (from - own.low) * row_bytes;
    boxes.push_back(std::move(placed));
  }
  return boxes;
}

MemoryView slice_view(std::span<const std::int64_t> shape, const Fusion& fusion,
                      std::uint32_t piece, std::int64_t element_bytes) {
  Fusion of_slice = fusion;
  of_slice.dim = std::max(0, fusion.dim - 1);
  const std::span<const std::int64_t> slice = shape.subspan(1);
  const StoredPiece stored = stored_piece(slice, of_slice, piece);
  MemoryView view = piece_view(stored, element_bytes);
  view.slot_bytes = elements_below(shape, 0) * element_bytes;
  if (!fusion.transposed || slice.size() < 2) return view;
  // The logical tensor has the last two dimensions exchanged, and with them strides and factors.
  const auto last = static_cast<int>(slice.size()) - 1;
  std::vector<std::vector<std::int64_t>> by_dim;
  std::size_t at = 0;
  for (int dim = 0; dim <= last; ++dim) {
    const std::size_t count = view.factors.contains(dim) ? view.factors[dim].size() : 1;
    by_dim.emplace_back(view.strides.begin() + static_cast<std::ptrdiff_t>(at),
                        view.strides.begin() + static_cast<std::ptrdiff_t>(at + count));
    at += count;
  }
  std::swap(by_dim[static_cast<std::size_t>(last)], by_dim[static_cast<std::size_t>(last - 1)]);
  view.strides.clear();
  for (const auto& strides : by_dim)
    view.strides.insert(view.strides.end(), strides.begin(), strides.end());
  std::map<int, std::vector<std::int64_t>> factors;
  for (auto& [dim, sizes] : view.factors)
    factors[dim == last ? last - 1 : dim == last - 1 ? last : dim] = std::move(sizes);
  view.factors = std::move(factors);
  return view;
}

}  // namespace transload
