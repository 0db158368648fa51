#include "planner/schedule/region_cursor.h"

#include <algorithm>

#include "common/check.h"
#include "common/dtype.h"

namespace transload {

void RegionCursor::open(const Plan& plan, std::uint64_t shard_row,
                        std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                        std::span<const std::uint64_t> image_strides) {
  const std::uint32_t tensor = plan.shard_tensor_first[shard_row];
  const std::uint64_t box = plan.shard_box[shard_row];
  const std::int64_t bits = dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor]));
  TRANSLOAD_CHECK(bits % 8 == 0, "elements are whole bytes");
  axes_.clear();
  digits_.clear();
  base_ = 0;
  region_bytes_ = static_cast<std::uint64_t>(bits / 8);
  // The bytes of an element are the innermost axis; byte ranges that cut elements then need no
  // case.
  axes_.push_back({region_bytes_, 0, 1, 0, 1, 0, 0});
  digits_.push_back({region_bytes_, 1});
  for (std::size_t d = lower.size(); d-- > 0;) {
    TRANSLOAD_CHECK(upper[d] > lower[d], "a region to walk is not empty");
    const auto extent = static_cast<std::uint64_t>(upper[d] - lower[d]);
    const auto low = static_cast<std::uint64_t>(lower[d] - plan.bounds[box + 2 * d]);
    add_dimension(plan, shard_row, static_cast<std::uint8_t>(d), low, extent, image_strides[d]);
    region_bytes_ *= extent;
  }
  seek(0, region_bytes_);
}

void RegionCursor::collect_digits(const Plan& plan, std::uint64_t shard_row, std::uint8_t dim) {
  found_.clear();
  const std::size_t first = plan.shard_loop_first[shard_row];
  for (std::size_t l = first; l < first + plan.shard_loops[shard_row]; ++l) {
    if (plan.loop_dim[l] != dim || plan.loop_length[l] == 1) continue;
    const Digit digit{static_cast<std::uint64_t>(plan.loop_length[l]),
                      static_cast<std::uint64_t>(plan.loop_stride_bits[l]) / 8};
    if (!found_.empty() && found_.back().stride == digit.length * digit.stride)
      found_.back() = {found_.back().length * digit.length, digit.stride};
    else
      found_.push_back(digit);
  }
}

void RegionCursor::add_dimension(const Plan& plan, std::uint64_t shard_row, std::uint8_t dim,
                                 std::uint64_t low, std::uint64_t extent,
                                 std::uint64_t image_stride) {
  collect_digits(plan, shard_row, dim);
  // Outer digits that do not change over the region are part of the base.
  std::uint64_t block = 1;
  std::size_t moving = found_.size();
  while (moving > 0 && low / block != (low + extent - 1) / block) block *= found_[--moving].length;
  std::uint64_t scale = block;
  for (std::size_t i = moving; i-- > 0;) {
    base_ += low / scale % found_[i].length * found_[i].stride;
    scale *= found_[i].length;
  }
  found_.erase(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(moving));
  if (extent == 1) return;
  TRANSLOAD_CHECK(!found_.empty(), "the loops of a shard enumerate its box");
  low %= block;
  if (found_.size() == 1) {
    base_ += low * found_[0].stride;
    low = 0;
  }
  push_axis(extent, low, image_stride);
}

void RegionCursor::push_axis(std::uint64_t extent, std::uint64_t low, std::uint64_t image_stride) {
  const Axis inner = axes_.back();
  const Digit inner_digit = digits_.back();
  const bool merges = inner.digits == 1 &&
                      found_.back().stride == inner.extent * inner_digit.stride &&
                      image_stride == inner.extent * inner.image_stride;
  if (merges) {
    found_.back() = {found_.back().length * inner.extent, inner_digit.stride};
    low *= inner.extent;
    extent *= inner.extent;
    image_stride = inner.image_stride;
    axes_.pop_back();
    digits_.pop_back();
  }
  axes_.push_back({extent, low, image_stride, static_cast<std::uint32_t>(digits_.size()),
                   static_cast<std::uint32_t>(found_.size()), 0, 0});
  digits_.insert(digits_.end(), found_.begin(), found_.end());
}

std::uint64_t RegionCursor::offset(const Axis& axis, std::uint64_t index) const {
  const Digit* digits = digits_.data() + axis.digit_first;
  if (axis.digits == 1) return index * digits[0].stride;
  std::uint64_t rest = axis.low + index;
  std::uint64_t memory = 0;
  for (std::uint32_t i = axis.digits; i-- > 0;) {
    memory += rest % digits[i].length * digits[i].stride;
    rest /= digits[i].length;
  }
  return memory;
}

void RegionCursor::seek(std::uint64_t begin, std::uint64_t end) {
  TRANSLOAD_CHECK(begin <= end && end <= region_bytes_, "a walk stays inside its region");
  left_ = end - begin;
  outer_memory_ = 0;
  outer_image_ = 0;
  std::uint64_t rest = begin;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    Axis& axis = axes_[k];
    axis.index = rest % axis.extent;
    rest /= axis.extent;
    axis.memory = offset(axis, axis.index);
    if (k == 0) continue;
    outer_memory_ += axis.memory;
    outer_image_ += axis.index * axis.image_stride;
  }
}

void RegionCursor::step_outer() {
  for (std::size_t k = 1; k < axes_.size(); ++k) {
    Axis& axis = axes_[k];
    outer_memory_ -= axis.memory;
    if (++axis.index < axis.extent) {
      outer_image_ += axis.image_stride;
      axis.memory = offset(axis, axis.index);
      outer_memory_ += axis.memory;
      return;
    }
    outer_image_ -= (axis.extent - 1) * axis.image_stride;
    axis.index = 0;
    axis.memory = offset(axis, 0);
    outer_memory_ += axis.memory;
  }
}

bool RegionCursor::next(Stretch& stretch) {
  if (left_ == 0) return false;
  Axis& inner = axes_[0];
  std::uint64_t bytes = std::min(inner.extent - inner.index, left_);
  if (inner.digits > 1) {
    const std::uint64_t block = digits_[inner.digit_first + inner.digits - 1].length;
    bytes = std::min(bytes, block - (inner.low + inner.index) % block);
  }
  stretch = {outer_image_ + inner.index, base_ + outer_memory_ + offset(inner, inner.index), bytes};
  left_ -= bytes;
  inner.index += bytes;
  if (inner.index == inner.extent) {
    inner.index = 0;
    step_outer();
  }
  return true;
}

}  // namespace transload
