// The assignment behind `min_max_cut`, balanced beyond its bottleneck.
//
// The tight set of the min-max problem is loaded evenly at T*; what is outside it is balanced among
// the other ports in the same way, set after set (lexicographic balance). A schedule is easier to
// order when ports with slack are even too.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/bound/min_max_flow.h"

namespace transload {

// Bytes of demand i on each of its ports, in the order of `demands[i].ports`; they sum to its
// bytes. Port loads exceed the exact optimum by a few bytes at most. `rates`: bytes/s, positive
// where a demand has the port.
std::vector<std::vector<std::int64_t>> balanced_flow(const std::vector<FlowDemand>& demands,
                                                     const std::vector<std::int64_t>& rates);

}  // namespace transload
