#include "planner/strategy/rail_gather.h"

#include <algorithm>

namespace transload {

RailPlaces::RailPlaces(const std::vector<BroadcastSite>& sites, std::size_t ranks) : place_(ranks) {
  for (std::uint32_t s = 0; s < sites.size(); ++s)
    for (std::uint32_t rail = 0; rail < sites[s].ranks.size(); ++rail)
      place_[static_cast<std::size_t>(sites[s].ranks[rail])] = {rail, s};
}

void gather_over_rails(CollectiveEmitter& emitter, const CollectivePhase& phase,
                       const std::vector<BroadcastSite>& sites, const RailPlaces& places,
                       const std::vector<BucketPart>& parts) {
  using Ranges = std::vector<ByteRange>;
  std::size_t rails = 1;
  for (const BroadcastSite& site : sites) rails = std::max(rails, site.ranks.size());
  std::vector<std::vector<Ranges>> held(rails, std::vector<Ranges>(sites.size()));
  std::vector<Ranges> of_rail(rails);
  for (const BucketPart& part : parts) {
    held[places.rail(part.owner)][places.site(part.owner)].push_back(part.range);
    of_rail[places.rail(part.owner)].push_back(part.range);
  }
  for (std::size_t rail = 0; rail < rails; ++rail) {
    std::vector<Rank> line;
    for (const BroadcastSite& site : sites) line.push_back(site.on_rail(rail));
    emitter.line_all_gather(phase, line, held[rail]);
  }
  for (const BroadcastSite& site : sites) {
    std::vector<Ranges> local(site.ranks.size());
    for (std::size_t rail = 0; rail < rails; ++rail) {
      Ranges& ranges = local[rail % site.ranks.size()];
      ranges.insert(ranges.end(), of_rail[rail].begin(), of_rail[rail].end());
    }
    emitter.line_all_gather(phase, site.ranks, local);
  }
}

}  // namespace transload
