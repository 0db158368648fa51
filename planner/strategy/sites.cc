#include "planner/strategy/sites.h"

#include <map>

namespace transload {

std::vector<BroadcastSite> sites_of(const std::vector<Rank>& ranks, const Fabric& fabric) {
  std::map<std::int32_t, std::vector<Rank>> by_domain;
  for (Rank rank : ranks) by_domain[fabric.domain[static_cast<std::size_t>(rank)]].push_back(rank);
  std::vector<BroadcastSite> sites;
  sites.reserve(by_domain.size());
  for (auto& [domain, members] : by_domain) sites.push_back({domain, std::move(members)});
  return sites;
}

}  // namespace transload
