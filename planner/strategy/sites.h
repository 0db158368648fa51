// The ranks of one NVLink domain that take part in a collective. Internal to planner/strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/fabric.h"

namespace transload {

struct BroadcastSite {
  std::int32_t domain = 0;
  std::vector<Rank> ranks;
  // The rank that carries rail `rail` of a collective.
  Rank on_rail(std::size_t rail) const { return ranks[rail % ranks.size()]; }
};

// The ranks by domain, ascending.
std::vector<BroadcastSite> sites_of(const std::vector<Rank>& ranks, const Fabric& fabric);

}  // namespace transload
