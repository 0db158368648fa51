// Walks one region (a box of one tensor) of a shard in row-major order, as stretches that are
// contiguous both in the rank's memory and in an *image*: the packed order of a bundle, or the
// tensor's own row-major order. The one place that knows how the loops of a shard row turn
// coordinates into addresses.
//
// Dimensions that follow each other without a gap on both sides are merged first, so a stretch is
// as long as the layout allows; finding the place of a byte costs a division per remaining
// dimension.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

// `bytes` contiguous bytes at `image` that lie in memory from byte `memory` of the tensor's part of
// the buffer (what the row's bit offsets add is the caller's business).
struct Stretch {
  std::uint64_t image = 0;
  std::uint64_t memory = 0;
  std::uint64_t bytes = 0;
};

class RegionCursor {
 public:
  // The region [lower, upper) per dimension, in global coordinates, inside the box of `shard_row`.
  // `image_strides`: bytes in the image from one coordinate to the next, per dimension. Image
  // positions count from the region's first byte. The region must not be empty.
  void open(const Plan& plan, std::uint64_t shard_row, std::span<const std::int64_t> lower,
            std::span<const std::int64_t> upper, std::span<const std::uint64_t> image_strides);

  std::uint64_t region_bytes() const { return region_bytes_; }

  // Narrows the walk to bytes [begin, end) of the region's row-major order; may cut elements.
  void seek(std::uint64_t begin, std::uint64_t end);

  // The next stretch, or false at the end.
  bool next(Stretch& stretch);

 private:
  // A coordinate's digits, outer to inner: the last one counts 0 .. length - 1 in steps of `stride`
  // bytes.
  struct Digit {
    std::uint64_t length;
    std::uint64_t stride;
  };
  // One or several merged dimensions. With a single digit, `low` is 0 and the digit's length is
  // unused.
  struct Axis {
    std::uint64_t extent;
    std::uint64_t low;
    std::uint64_t image_stride;
    std::uint32_t digit_first;
    std::uint32_t digits;
    std::uint64_t index;   // 0 .. extent - 1
    std::uint64_t memory;  // offset of `index` along this axis
  };

  void add_dimension(const Plan& plan, std::uint64_t shard_row, std::uint8_t dim, std::uint64_t low,
                     std::uint64_t extent, std::uint64_t image_stride);
  void collect_digits(const Plan& plan, std::uint64_t shard_row, std::uint8_t dim);
  void push_axis(std::uint64_t extent, std::uint64_t low, std::uint64_t image_stride);
  std::uint64_t offset(const Axis& axis, std::uint64_t index) const;
  void step_outer();

  std::vector<Axis> axes_;     // innermost first; axis 0 is contiguous within its last digit
  std::vector<Digit> digits_;  // per axis, outer to inner
  std::vector<Digit> found_;   // of the dimension that is being added
  std::uint64_t base_ = 0;
  std::uint64_t region_bytes_ = 0;
  std::uint64_t outer_memory_ = 0;  // sum over axes 1 and up
  std::uint64_t outer_image_ = 0;
  std::uint64_t left_ = 0;
};

}  // namespace transload
