// Who one process has to do with under a plan.
#pragma once

#include <vector>

#include "executor/peers/transport.h"
#include "planner/schedule/hosting.h"

namespace transload {

struct PeerPlane {
  std::int32_t process = 0;
  Plane plane = Plane::kNetwork;
  friend auto operator<=>(const PeerPlane&, const PeerPlane&) = default;
};

// The side of its host that a crossing transfer leaves by.
Plane plane_of(const Plan& plan, OpId op);

// Every process that this one exchanges bytes or notices with, and over which plane (notices: the
// network); ascending, each once. Both ends of a pair come to the same planes.
std::vector<PeerPlane> peers_of(const Plan& plan, const Hosting& hosting);

}  // namespace transload
