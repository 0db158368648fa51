// Which ranks of two NVLink domains talk to each other, when few may. Internal to the strategy
// `transload`.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "planner/strategy/transload/entries.h"
#include "planner/strategy/transload/narrow_links.h"
#include "planner/strategy/transload/port_shares.h"

namespace transload {

// Two domains, the smaller number first -> bytes between them in both directions.
using DomainGraph = std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t>;
// Two ranks, the smaller first.
using RankPair = std::pair<Rank, Rank>;

struct DomainPairs {
  std::set<RankPair> pairs;
  std::int64_t least = 0;  // peers of the busiest rank with one pair for every edge of the graph
};

// One pair for every edge of the graph, then more, by bytes, while no rank has more than
// `max_peers`. Empty `pairs` where `least` is more than that, and `least` 0 where some edge has no
// pair at all.
DomainPairs choose_pairs(const DomainGraph& graph, const std::map<RankPair, std::int64_t>& used,
                         const Fabric& fabric, const MayHelp& may_help, NarrowLinks& links,
                         std::int64_t max_peers);

}  // namespace transload
