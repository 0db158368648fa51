// What must scale alike when a plan is scaled, and by how much it can.
//
// Tensors that one shard row or slice names share their boxes, so they scale alike: a *component*.
// Components whose shards lie in one buffer (q, k and v in a fused one) share strides and offsets:
// a *group*. A group is scaled in *steps*, one per dimension counted from the last, each by one
// divisor.
//
// Another name of a tensor scales as the tensor does, and the zero fills of a buffer as its shards.
//
// A shard in memory is a sum of digits times strides. Dividing the digit of stride s by f keeps all
// that is inside a period of s and divides, rounding down, what counts periods: the strides above s
// and the offset. So f must divide the digit's length and every larger stride over s; what is
// inside must stay within one period; and all views of one buffer must agree on s. Then views that
// were disjoint stay so: views that use the same bytes of their periods use different periods, L of
// them from number q, and floor((q + L) / f) = floor(q / f) + L / f. So do neighbours stay
// neighbours.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

// One loop of a shard as its memory is laid out; the step from tensor to tensor within a buffer is
// a loop of no dimension.
inline constexpr int kTensorLoop = -1;
struct ScaledLoop {
  int dim = kTensorLoop;
  std::int64_t length = 1;
  std::int64_t stride_bits = 0;
};

struct ScaledRow {
  std::size_t rank = 0;
  std::uint64_t row = 0;  // in the shard table
  std::uint32_t component = 0;
  bool empty = false;  // no elements: bounds scale, memory does not matter
  std::int64_t element_bits = 0;
  std::int64_t offset_bits = 0;
  std::vector<ScaledLoop> loops;  // outermost first; the tensor loop stands first
  std::size_t buffer_set = 0;
};

// Zero fills of equal size and spacing: `repeats` stretches of `bytes` from `offset` on, `spacing`
// bytes from one to the next, in each of `count` buffers of a rank.
struct FillPattern {
  std::size_t rank = 0;
  std::uint32_t buffer = 0;
  std::uint32_t count = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t repeats = 1;
  std::uint64_t spacing = 0;
};

// Rows and fills of one rank that lie in common buffers, by chains.
struct BufferSet {
  std::size_t rank = 0;
  std::uint64_t first_buffer = 0;
  std::uint64_t end_buffer = 0;
  std::vector<std::size_t> rows;  // none: the set stays as it is
  std::vector<std::size_t> fills;
};

struct ScaleGroups {
  std::vector<std::uint32_t> component_of_tensor;
  std::vector<std::uint32_t> group_of_component;
  std::vector<int> dims_of_component;
  std::vector<ScaledRow> rows;  // one per shard row, in order
  std::vector<FillPattern> patterns;
  std::vector<ScaledRow> fills;  // one per pattern
  std::vector<BufferSet> sets;
  // Per group and step (dimension counted from the last): what divides it, and whether it is
  // unsharded.
  std::vector<std::vector<std::int64_t>> divisible;
  std::vector<std::vector<bool>> unsharded;

  int dim_of_step(std::uint32_t component, std::size_t step) const {
    return dims_of_component[component] - 1 - static_cast<int>(step);
  }
};

ScaleGroups find_scale_groups(const Plan& plan);

// The divisors of a group, one per step: their product is the largest not above `target` that
// unsharded steps reach, times the largest that the rest of the target allows for the other steps.
std::vector<std::int64_t> choose_factors(const std::vector<std::int64_t>& divisible,
                                         const std::vector<bool>& unsharded, std::uint64_t target);

// The digit of `dim` that a step divides: the innermost; null if the row has none.
ScaledLoop* digit_of(ScaledRow& row, int dim);
inline const ScaledLoop* digit_of(const ScaledRow& row, int dim) {
  return digit_of(const_cast<ScaledRow&>(row), dim);
}

}  // namespace transload
