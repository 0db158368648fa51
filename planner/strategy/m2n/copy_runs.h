// How M2N's parts of a tensor lie in a rank's memory: the length of the runs that packing and
// unpacking copy. Internal to planner/strategy/m2n.
#pragma once

#include <cstdint>

#include "planner/layout/problem.h"
#include "planner/schedule/builder.h"
#include "planner/strategy/m2n/tensors.h"

namespace transload {

// Bytes of the contiguous runs in which `box` (of the possibly stacked tensor) lies in the rank's
// own shard; 0 where a member lies there in one piece.
std::uint32_t copy_run_bytes(const ReshardProblem& problem, const M2nTensor& tensor, const Box& box,
                             Rank rank, Side side);

// The box of every member that `box` is of a stack: without its first dimension. Of a tensor that
// is not stacked, the box itself.
Box member_box(const M2nTensor& tensor, const Box& box);

// The slices of a box, in packed order: members of a stack by expert.
std::vector<SliceSpec> slices_of(PlanBuilder& builder, const M2nTensor& tensor, const Box& box);

}  // namespace transload
