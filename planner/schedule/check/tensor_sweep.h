// Sweep over tensor numbers: which boxes concern which tensors.
//
// Slices and shard rows name ranges of tensors (slices with a step), so that tens of thousands of
// experts are one row. The sweep cuts the tensors where ranges begin and end; between two cuts all
// tensors are alike and are looked at once. Where stepped ranges meet, tensors are alike by
// residue.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "planner/schedule/check/box_math.h"

namespace transload {

struct SweepItem {
  std::uint32_t tensor_first = 0;
  std::uint32_t tensor_count = 1;
  std::uint32_t tensor_step = 1;
  bool wanted = false;  // a shard row; else a slice
  std::uint32_t tag = 0;
  Bounds box;
};

// Calls visit(tensor, tensors, active) for every set of like tensors: `tensor` is one of them,
// `tensors` their number, `active` the positions of the items that name them. Tensors without items
// are left out.
using SweepVisitor = std::function<void(std::uint32_t tensor, std::uint64_t tensors,
                                        std::span<const std::uint32_t>)>;
void sweep_tensors(std::vector<SweepItem>& items, const SweepVisitor& visit);

}  // namespace transload
