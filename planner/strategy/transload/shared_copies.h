// One copy through a narrow link instead of one per domain behind it. Internal to the strategy
// `transload`.
//
// Where several NVLink domains of a pod or a site want the same bytes from outside, sending each
// its own copy loads the links into the pod several times. Here one domain, for large classes each
// in its turn, takes the bytes from outside and forwards them to the others inside, from the NIC
// that landed them to a NIC at the same switch where there is one. Likewise for what leaves a pod
// for several domains outside. Done class by class, large ones first, until what passes fits the
// goal.
#pragma once

#include "planner/bound/pods.h"
#include "planner/strategy/transload/placement.h"

namespace transload {

// The set with some entries forwarded from others; the same receivers get the same bytes.
EntrySet share_copies(const EntrySet& set, const std::vector<Pod>& pods,
                      const PlacementInput& input, std::int64_t goal_ps);

}  // namespace transload
