// An all-gather between NVLink domains and inside them: first along every rail from domain to
// domain, then along a line in each domain, so that every NIC of a node carries its share. Internal
// to planner/strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/collective_hops.h"
#include "planner/strategy/sites.h"

namespace transload {

// Where ranks stand in the sites: the rail is the rank's place in its site. Numbers that sort by
// rail first, so that what a hop has collected is one range where parts are ordered by them.
class RailPlaces {
 public:
  RailPlaces(const std::vector<BroadcastSite>& sites, std::size_t ranks);
  std::int64_t of(Rank rank) const {
    const Place& place = place_[static_cast<std::size_t>(rank)];
    return std::int64_t{place.rail} << 32 | place.site;
  }
  std::uint32_t rail(Rank rank) const { return place_[static_cast<std::size_t>(rank)].rail; }
  std::uint32_t site(Rank rank) const { return place_[static_cast<std::size_t>(rank)].site; }

 private:
  struct Place {
    std::uint32_t rail = 0;
    std::uint32_t site = 0;
  };
  std::vector<Place> place_;  // by rank; of ranks of the sites only
};

// Every rank of the sites collects all parts; their owners are ranks of the sites and have them in
// their slots.
void gather_over_rails(CollectiveEmitter& emitter, const CollectivePhase& phase,
                       const std::vector<BroadcastSite>& sites, const RailPlaces& places,
                       const std::vector<BucketPart>& parts);

}  // namespace transload
