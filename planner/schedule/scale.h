// A smaller plan of the same structure: for running a schedule of a thousand GPUs on one machine.
//
// Lengths are divided, nothing else: operations, edges, keys, slots, ports, classes and slices stay
// those of the full plan, so that what is run has the full plan's graph. A dimension is divided
// only by divisors of the gcd of all its cut points (bounds of every box of either side and of
// every slice, extents, and whatever its strides and offsets in memory need), so that every cut
// stays exact. Times, rates and bounds in the header are kept and are those of the full plan;
// `header.scale` > 1 says so.
#pragma once

#include <cstdint>

#include "planner/schedule/plan_file.h"

namespace transload {

// Scales each tensor's bytes down to about 1 / target, never below: per set of tensors that must
// scale alike, dimensions that nobody shards first. Tensors that nothing divides stay as they are.
// The factor reached over all bundles' bytes, rounded, multiplies `header.scale`, and a line in
// `header.assumptions` says it. InputError if `target` is 0.
Plan scale_plan(const Plan& plan, std::uint64_t target);

}  // namespace transload
