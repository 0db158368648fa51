#include "planner/strategy/transload/lines.h"

#include <algorithm>
#include <cstdlib>

#include "common/check.h"

namespace transload {
namespace {

// Rows shorter than a page are cut several at a time.
constexpr std::int64_t kPage = 4096;
// A rest smaller than this is not worth a transfer of its own.
constexpr std::int64_t kSmallRest = std::int64_t{1} << 20;

// Blockwise 8-bit floats have a scale for 128 x 128 elements (DeepSeek-V3 and what follows it;
// docs/models.md). Other types have no blocks.
constexpr std::int64_t kBlockRows = 128;

std::int64_t block_rows(DType dtype) {
  return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2 ? kBlockRows : 0;
}

std::int64_t nearest_multiple(std::int64_t value, std::int64_t unit) {
  return (value + unit / 2) / unit * unit;
}

// The nearest byte of a tensor's part of a slice between two blocks of rows, which begin at
// multiples of `block` in the whole tensor; its first and its last byte count as such. `row`: bytes
// of a row of the slice.
std::int64_t nearest_block(const Box& box, std::int64_t byte, std::int64_t row,
                           std::int64_t block) {
  const std::size_t rows_at = box.bounds.size() - 4;
  const std::int64_t first = box.bounds[rows_at];
  const std::int64_t rows = box.bounds[rows_at + 1] - first;
  const std::int64_t matrix = byte / (rows * row);
  const std::int64_t at = nearest_multiple(byte % (rows * row), row) / row;
  const std::int64_t below = std::max<std::int64_t>(0, (first + at) / block * block - first);
  const std::int64_t above = std::min(rows, ((first + at) / block + 1) * block - first);
  return (matrix * rows + (at - below <= above - at ? below : above)) * row;
}

}  // namespace

std::int64_t ClassCuts::near(std::uint32_t demand_class, std::int64_t byte,
                             std::int64_t tolerance) const {
  const std::span<const std::int64_t> begins = offsets_.of(demand_class);
  byte = std::clamp<std::int64_t>(byte, 0, begins.back());
  if (byte == begins.back()) return byte;
  const std::size_t index = offsets_.slice_at(demand_class, byte);
  const std::int64_t begin = begins[index];
  const DemandSlice& slice = demand_.classes[demand_class].slices[index];
  const TensorGroup& group = problem_.groups[slice.group];
  const std::int64_t element = element_bytes(group.dtype);
  const std::size_t dims = slice.box.bounds.size() / 2;
  const std::int64_t row =
      dims == 0 ? element
                : element * (slice.box.bounds[2 * dims - 1] - slice.box.bounds[2 * dims - 2]);
  const std::int64_t tensor = volume(slice.box) * element;
  const std::int64_t rows = row * ((kPage + row - 1) / row);
  const std::int64_t in_slice = byte - begin;
  // From the best place to the last resort; an element is always cut whole.
  const std::int64_t block = dims < 2 ? 0 : block_rows(group.dtype);
  constexpr std::int64_t kBlock = -1;
  for (const std::int64_t unit : {tensor, kBlock, rows, row, element}) {
    if (unit == kBlock && block == 0) continue;
    const std::int64_t in_tensor = in_slice % tensor;
    const std::int64_t near = unit == kBlock ? nearest_block(slice.box, in_tensor, row, block)
                                             : nearest_multiple(in_tensor, unit);
    const std::int64_t cut = in_slice - in_tensor + std::min(tensor, near);
    if (std::abs(cut - in_slice) <= tolerance || unit == element) return begin + cut;
  }
  return byte;
}

std::vector<std::vector<Piece>> cut_line(std::span<const Stretch> stretches,
                                         std::span<const PortShare> shares, const ClassCuts& cuts,
                                         std::int64_t tolerance) {
  TRANSLOAD_CHECK(!shares.empty(), "a line has ports");
  std::int64_t length = 0;
  for (const Stretch& stretch : stretches) length += stretch.end - stretch.begin;
  std::int64_t total = 0;
  for (const PortShare& share : shares) total += share.bytes;
  std::vector<std::vector<Piece>> pieces(stretches.size());
  const std::int64_t small = std::min(kSmallRest, tolerance);
  std::uint32_t share = 0;
  std::int64_t taken = 0;  // bytes of the shares before `share`
  // Where on the line the current share ends.
  const auto share_end = [&]() -> std::int64_t {
    if (share + 1 == shares.size() || total == 0) return length;
    return static_cast<std::int64_t>(static_cast<__int128>(length) * (taken + shares[share].bytes) /
                                     total);
  };
  std::int64_t line = 0;  // where the stretch begins on the line
  for (std::size_t s = 0; s < stretches.size(); ++s) {
    const Stretch& stretch = stretches[s];
    std::int64_t at = stretch.begin;
    while (at < stretch.end) {
      const std::int64_t wanted = stretch.begin + (share_end() - line);
      std::int64_t end = stretch.end;
      if (wanted < stretch.end - small)
        end = std::clamp(cuts.near(stretch.demand_class, wanted, tolerance), at, stretch.end);
      if (end - at > 0 && end - at <= small && end < stretch.end) end = at;
      if (end > at) {
        if (!pieces[s].empty() && pieces[s].back().share == share)
          pieces[s].back().end = end;
        else
          pieces[s].push_back({end, share});
        at = end;
      }
      if (wanted <= stretch.end && share + 1 < shares.size()) {  // the share is used up
        taken += shares[share].bytes;
        ++share;
      }
    }
    line += stretch.end - stretch.begin;
  }
  return pieces;
}

}  // namespace transload
