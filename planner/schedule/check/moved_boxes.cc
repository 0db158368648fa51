#include "planner/schedule/check/moved_boxes.h"

#include <algorithm>
#include <tuple>

#include "common/dtype.h"
#include "common/recipe.h"

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

// Cuts slices where neighbours are not alike; their first parts take their places.
// `alike(a, b)`: tensors a and b of a slice may stay together; `rename(item)` changes a part.
template <class Alike, class Rename>
void rename_slices(std::vector<SweepItem>& items, const Alike& alike, const Rename& rename) {
  const std::size_t given = items.size();
  for (std::size_t i = 0; i < given; ++i) {
    if (items[i].wanted) continue;
    const SweepItem slice = items[i];
    const auto tensor = [&](std::uint32_t k) { return slice.tensor_first + k * slice.tensor_step; };
    for (std::uint32_t begin = 0; begin < slice.tensor_count;) {
      std::uint32_t end = begin + 1;
      while (end < slice.tensor_count && alike(tensor(begin), tensor(end))) ++end;
      SweepItem part = slice;
      part.tensor_first = tensor(begin);
      part.tensor_count = end - begin;
      rename(part);
      if (begin == 0)
        items[i] = part;
      else
        items.push_back(part);
      begin = end;
    }
  }
}

// What must be read to make `box` of a tensor, in coordinates of the tensor of `shape` that it is
// made from.
OwnedBounds origin_of(Bounds box, const RecipeInfo& recipe, std::span<const std::int64_t> shape) {
  OwnedBounds origin(box.begin(), box.end());
  const std::size_t dims = shape.size();
  for (std::size_t d = 0; d < dims; ++d) {
    const bool column = d + 1 == dims;
    const bool row = d + 2 == dims;
    const std::int64_t cell = column ? recipe.cell_columns : row ? recipe.cell_rows : 1;
    const std::int64_t block = column ? recipe.block_columns : row ? recipe.block_rows : 1;
    origin[2 * d] = box[2 * d] * cell / block * block;
    origin[2 * d + 1] = std::min(shape[d], (box[2 * d + 1] * cell + block - 1) / block * block);
  }
  return origin;
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
  const auto shift = [&](std::uint32_t tensor) { return tensor - plan.tensor_source[tensor]; };
  rename_slices(
      items, [&](std::uint32_t a, std::uint32_t b) { return shift(a) == shift(b); },
      [&](SweepItem& part) { part.tensor_first = plan.tensor_source[part.tensor_first]; });
}

void name_slices_by_origin(const Plan& plan, std::vector<SweepItem>& items,
                           std::deque<OwnedBounds>& parts) {
  const auto shift = [&](std::uint32_t tensor) { return tensor - plan.tensor_made_from[tensor]; };
  rename_slices(
      items,
      [&](std::uint32_t a, std::uint32_t b) {
        return shift(a) == shift(b) && plan.tensor_recipe[a] == plan.tensor_recipe[b];
      },
      [&](SweepItem& part) {
        const std::uint32_t tensor = part.tensor_first;
        const std::uint32_t from = plan.tensor_made_from[tensor];
        if (from == tensor) return;
        const RecipeInfo& recipe = recipe_info(static_cast<Recipe>(plan.tensor_recipe[tensor]));
        part.tensor_first = from;
        part.box = parts.emplace_back(origin_of(part.box, recipe, tensor_shape(plan, from)));
      });
}

}  // namespace transload
