#include "planner/schedule/check/moved_boxes.h"

#include <algorithm>
#include <tuple>

#include "common/dtype.h"

namespace transload {
namespace {

SweepItem slice_item(const Plan& plan, std::uint64_t slice, std::uint32_t tag) {
  const std::uint32_t tensor = plan.slice_tensor_first[slice];
  return {tensor,
          plan.slice_tensor_count[slice],
          plan.slice_tensor_step[slice],
          false,
          tag,
          box_bounds(plan, plan.slice_box[slice], plan.tensor_dims[tensor])};
}

// Elements [begin, end) of all tensors of the slice, counted tensor after tensor.
void add_elements(const SweepItem& slice, __int128 begin, __int128 end, __int128 volume,
                  std::vector<SweepItem>& items, std::deque<OwnedBounds>& parts) {
  const auto add_part = [&](__int128 tensor, __int128 from, __int128 to) {
    for_each_box_of_range(slice.box, from, to, [&](Bounds part) {
      SweepItem item = slice;
      item.tensor_first += static_cast<std::uint32_t>(tensor) * slice.tensor_step;
      item.tensor_count = 1;
      item.tensor_step = 1;
      item.box = parts.emplace_back(part.begin(), part.end());
      items.push_back(item);
    });
  };
  __int128 first = begin / volume;
  const __int128 last = end / volume;
  if (first == last) {
    add_part(first, begin % volume, end % volume);
    return;
  }
  if (begin % volume > 0) add_part(first++, begin % volume, volume);
  if (first < last) {
    SweepItem item = slice;
    item.tensor_first += static_cast<std::uint32_t>(first) * slice.tensor_step;
    item.tensor_count = static_cast<std::uint32_t>(last - first);
    items.push_back(item);
  }
  if (end % volume > 0) add_part(last, 0, end % volume);
}

}  // namespace

void sort_ranges(std::vector<BundleRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const BundleRange& a, const BundleRange& b) {
    return std::tuple(a.bundle, a.begin, a.op) < std::tuple(b.bundle, b.begin, b.op);
  });
}

void add_shard_items(const Plan& plan, std::int32_t rank, Side side,
                     std::vector<SweepItem>& items) {
  const auto r = static_cast<std::size_t>(rank);
  for (std::uint64_t row = plan.rank_shard_first[r]; row < plan.rank_shard_first[r + 1]; ++row) {
    if (static_cast<Side>(plan.shard_side[row]) != side) continue;
    const std::uint32_t tensor = plan.shard_tensor_first[row];
    const Bounds box = box_bounds(plan, plan.shard_box[row], plan.tensor_dims[tensor]);
    if (box_volume(box) == 0) continue;
    items.push_back(
        {tensor, plan.shard_tensor_count[row], 1, true, static_cast<std::uint32_t>(row), box});
  }
}

void add_bundle_items(const Plan& plan, std::int32_t bundle, std::uint32_t tag,
                      std::vector<SweepItem>& items) {
  const auto b = static_cast<std::size_t>(bundle);
  for (std::uint64_t s = plan.bundle_slice_first[b]; s < plan.bundle_slice_first[b + 1]; ++s) {
    const SweepItem item = slice_item(plan, s, tag);
    if (box_volume(item.box) > 0) items.push_back(item);
  }
}

void add_range_items(const Plan& plan, std::int32_t bundle, std::uint64_t begin, std::uint64_t end,
                     std::uint32_t tag, std::vector<SweepItem>& items,
                     std::deque<OwnedBounds>& parts) {
  const auto b = static_cast<std::size_t>(bundle);
  std::uint64_t at = 0;
  for (std::uint64_t s = plan.bundle_slice_first[b]; s < plan.bundle_slice_first[b + 1]; ++s) {
    if (at >= end) return;
    const SweepItem slice = slice_item(plan, s, tag);
    const __int128 volume = box_volume(slice.box);
    if (volume == 0) continue;
    const auto element_bytes = static_cast<std::uint64_t>(
        dtype_bits(static_cast<DType>(plan.tensor_dtype[slice.tensor_first])) / 8);
    const std::uint64_t bytes =
        static_cast<std::uint64_t>(volume) * element_bytes * slice.tensor_count;
    const std::uint64_t from = std::max(begin, at);
    const std::uint64_t to = std::min(end, at + bytes);
    if (from < to)
      add_elements(slice, (from - at) / element_bytes,
                   (to - at + element_bytes - 1) / element_bytes, volume, items, parts);
    at += bytes;
  }
}

void name_slices_by_source(const Plan& plan, std::vector<SweepItem>& items) {
  const std::size_t given = items.size();
  for (std::size_t i = 0; i < given; ++i) {
    if (items[i].wanted) continue;
    const SweepItem slice = items[i];
    const auto tensor = [&](std::uint32_t k) { return slice.tensor_first + k * slice.tensor_step; };
    const auto shift = [&](std::uint32_t k) { return tensor(k) - plan.tensor_source[tensor(k)]; };
    // The slice is cut where neighbours are not shifted alike; its first part takes its place.
    for (std::uint32_t begin = 0; begin < slice.tensor_count;) {
      std::uint32_t end = begin + 1;
      while (end < slice.tensor_count && shift(end) == shift(begin)) ++end;
      SweepItem part = slice;
      part.tensor_first = tensor(begin) - shift(begin);
      part.tensor_count = end - begin;
      if (begin == 0)
        items[i] = part;
      else
        items.push_back(part);
      begin = end;
    }
  }
}

}  // namespace transload
