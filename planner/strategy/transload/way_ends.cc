#include "planner/strategy/transload/way_ends.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace transload {

EndFinder::EndFinder(const Fabric& fabric, const NarrowLinks& links, const MayHelp& may_help,
                     Side side, bool by_rank)
    : fabric_(fabric), links_(links), may_help_(may_help), side_(side), by_rank_(by_rank) {
  for (std::size_t r = 0; r < fabric.ranks.size(); ++r)
    if (fabric.ranks[r].nvlink_out != kNone && may_help[r])
      by_domain_[fabric.domain[r]].push_back(static_cast<Rank>(r));
}

const WayEnds& EndFinder::of(std::span<const Rank> set) {
  const std::vector<Rank> key(set.begin(), set.end());
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(key, make(set)).first->second;
}

WayEnds EndFinder::make(std::span<const Rank> set) const {
  WayEnds result;
  std::set<std::int32_t> seen;  // ports: a NIC that GPUs share is the set's own where it can be
  const auto add = [&](Rank rank, bool hop) {
    const RankPorts& ports = fabric_.ranks[static_cast<std::size_t>(rank)];
    for (const std::int32_t port : side_ == Side::kOut ? ports.nic_out : ports.nic_in)
      if (seen.insert(port).second) result.ends.push_back({port, rank, links_.leaf(port), hop});
  };
  std::set<std::int32_t> domains;
  for (const Rank rank : set) {
    add(rank, false);
    if (fabric_.ranks[static_cast<std::size_t>(rank)].nvlink_out != kNone)
      domains.insert(fabric_.domain[static_cast<std::size_t>(rank)]);
  }
  for (const std::int32_t domain : domains)
    if (const auto mates = by_domain_.find(domain); mates != by_domain_.end())
      for (const Rank rank : mates->second)
        if (!std::binary_search(set.begin(), set.end(), rank)) add(rank, true);
  const auto key = [&](const WayEnd& end) {
    return std::tuple(end.leaf, end.hop, by_rank_ ? end.rank : 0);
  };
  std::stable_sort(result.ends.begin(), result.ends.end(),
                   [&](const WayEnd& a, const WayEnd& b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < result.ends.size(); ++i) {
    if (i == 0 || key(result.ends[i]) != key(result.ends[i - 1])) result.groups.push_back({i, i});
    result.groups.back().last = i + 1;
  }
  return result;
}

}  // namespace transload
