// Parallel groups of an engine whose ranks lie in several NVLink domains.
//
// Tensor- and expert-parallel groups talk to each other at every step of the engine; one that
// crosses a domain does so over the network, and under load that stalls (NVIDIA-NeMo/RL#2986).
// A refit does not care, so a plan only says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/sharding.h"
#include "topologies/topology.h"

namespace transload {

struct SpanningGroups {
  std::string side;           // "source", "destination[1]"
  std::string axis;           // "tp" or "ep"
  std::int64_t size = 0;      // ranks of a group
  std::int64_t groups = 0;    // of that axis
  std::int64_t spanning = 0;  // of them, in more than one domain
  std::vector<Rank> first;    // the first that does
  std::int64_t domains = 0;   // that the first lies in
  bool avoidable = false;     // some domain would hold a whole group
};

// Groups of `size` neighbouring ranks of a side: how every engine here numbers them. Empty where
// none spans domains.
std::vector<SpanningGroups> spanning_groups(const std::string& side, const std::string& axis,
                                            std::int64_t size, std::span<const Rank> ranks,
                                            const Topology& topology);

}  // namespace transload
