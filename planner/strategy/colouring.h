// Issue groups by greedy edge colouring. Internal to planner/strategy.
//
// A colour is a set of transfers that hold each port at most once (per unit of its rate), so one
// colour's transfers can all run at full speed together; G consecutive colours are issued as one
// group. In list order every transfer takes the first colour that is free at both its ports, and a
// forward none before the group after its landing's.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/hops.h"

namespace transload {

// Sets the group of every hop; `hops` in list order, landings before their forwards. NVLink
// forwards take no colour: they are issued in the group after their landing's.
void colour_groups(std::vector<Hop>& hops, const Fabric& fabric, std::uint32_t colours);

}  // namespace transload
