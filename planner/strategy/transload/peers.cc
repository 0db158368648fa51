#include "planner/strategy/transload/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/error.h"
#include "planner/strategy/transload/domain_pairs.h"
#include "planner/strategy/transload/placement.h"

namespace transload {
namespace {

class PeerLimiter {
 public:
  PeerLimiter(const ReshardProblem& problem, const Demand& demand, const Topology& topology,
              const Fabric& fabric, const TransloadOptions& options)
      : problem_(problem),
        demand_(demand),
        fabric_(fabric),
        options_(options),
        links_(topology, fabric),
        cuts_(problem, demand) {}

  EntrySet limit(const EntrySet& set, std::int64_t max_peers) {
    const std::map<RankPair, std::int64_t> used = pairs_of(set);
    EntrySet unrelayed = set;
    for (Entry& entry : unrelayed.entries) entry.parent = kNoEntry;
    std::int64_t least = INT64_MAX;
    for (const auto& [entries, graph] :
         {std::pair(&set, graph_of(used)), std::pair(&set, cover(set)),
          std::pair(&std::as_const(unrelayed), cover(unrelayed))}) {
      const DomainPairs pairs =
          choose_pairs(graph, used, fabric_, options_.may_help, links_, max_peers);
      if (!pairs.pairs.empty()) return place_over(*entries, pairs.pairs);
      if (pairs.least > 0) least = std::min(least, pairs.least);
    }
    throw InputError(fmt::format(
        "options.max_peers: some rank needs more than {} peers over the network: expected at least "
        "{}",
        max_peers, least));
  }

  std::int64_t most_peers(const EntrySet& set) const {
    std::vector<std::int64_t> peers(fabric_.ranks.size(), 0);
    for (const auto& [pair, bytes] : pairs_of(set)) {
      ++peers[static_cast<std::size_t>(pair.first)];
      ++peers[static_cast<std::size_t>(pair.second)];
    }
    return *std::max_element(peers.begin(), peers.end());
  }

 private:
  std::int32_t domain(Rank rank) const { return fabric_.domain[static_cast<std::size_t>(rank)]; }

  static std::map<RankPair, std::int64_t> pairs_of(const EntrySet& set) {
    std::map<RankPair, std::int64_t> pairs;
    for (const Entry& entry : set.entries)
      pairs[std::minmax(entry.way.sender, entry.way.landing)] += entry.end - entry.begin;
    return pairs;
  }

  DomainGraph graph_of(const std::map<RankPair, std::int64_t>& pairs) const {
    DomainGraph graph;
    for (const auto& [pair, bytes] : pairs)
      graph[std::minmax(domain(pair.first), domain(pair.second))] += bytes;
    return graph;
  }

  std::vector<std::int32_t> domains_of(std::uint32_t holders) const {
    std::vector<std::int32_t> domains;
    for (const Rank rank : problem_.sets.of(holders)) domains.push_back(domain(rank));
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    return domains;
  }

  // Few domains serve each: those that must, then, over and over, the one that holds most of what
  // is still missing; of equals the one that serves fewest.
  DomainGraph cover(const EntrySet& set) const {
    DomainGraph graph;
    std::map<std::int32_t, std::map<std::uint32_t, std::int64_t>> wanted;  // by domain, holder set
    for (const Entry& entry : set.entries) {
      const std::int32_t to = domain(entry.way.landing);
      const std::int64_t bytes = entry.end - entry.begin;
      if (entry.parent == kNoEntry)
        wanted[to][demand_.classes[entry.demand_class].holders] += bytes;
      else
        graph[std::minmax(domain(entry.way.holder), to)] += bytes;
    }
    std::map<std::int32_t, std::int64_t> serves;
    std::map<std::uint32_t, std::vector<std::int32_t>> held_by;
    for (auto& [to, sets] : wanted)
      for (const auto& [holders, bytes] : sets)
        if (!held_by.contains(holders)) held_by[holders] = domains_of(holders);
    for (auto& entry : wanted) {
      const std::int32_t to = entry.first;
      auto& missing = entry.second;
      const auto take = [&](std::int32_t from) {
        std::int64_t taken = 0;
        for (auto it = missing.begin(); it != missing.end();) {
          const std::vector<std::int32_t>& at = held_by[it->first];
          if (!std::binary_search(at.begin(), at.end(), from)) {
            ++it;
            continue;
          }
          taken += it->second;
          it = missing.erase(it);
        }
        if (taken == 0) return;
        graph[std::minmax(from, to)] += taken;
        ++serves[from];
      };
      std::vector<std::int32_t> only;
      for (const auto& [holders, bytes] : missing)
        if (held_by[holders].size() == 1) only.push_back(held_by[holders].front());
      for (const std::int32_t from : only) take(from);
      while (!missing.empty()) {
        std::map<std::int32_t, std::int64_t> gain;
        for (const auto& [holders, bytes] : missing)
          for (const std::int32_t from : held_by[holders]) gain[from] += bytes;
        std::int32_t best = gain.begin()->first;
        for (const auto& [from, bytes] : gain)
          if (bytes > gain[best] || (bytes == gain[best] && serves[from] < serves[best]))
            best = from;
        take(best);
      }
    }
    return graph;
  }

  EntrySet place_over(const EntrySet& set, const std::set<RankPair>& pairs) {
    const std::int64_t smallest = smallest_piece(fabric_, options_.goal_ps);
    const PlacementInput input{problem_,
                               demand_,
                               fabric_,
                               options_.may_help,
                               links_,
                               cuts_,
                               smallest,
                               [&](Rank sender, Rank landing) {
                                 return pairs.contains(std::minmax(sender, landing)); }};
    return place_best(set, input, options_.goal_ps).set;
  }

  const ReshardProblem& problem_;
  const Demand& demand_;
  const Fabric& fabric_;
  const TransloadOptions& options_;
  NarrowLinks links_;
  ClassCuts cuts_;
};

}  // namespace

RouteSet limit_peers(RouteSet routes, const ReshardProblem& problem, const Demand& demand,
                     const Topology& topology, const Fabric& fabric,
                     const TransloadOptions& options, std::int64_t max_peers) {
  PeerLimiter limiter(problem, demand, topology, fabric, options);
  const EntrySet set = to_entries(routes, fabric);
  if (limiter.most_peers(set) <= max_peers) return routes;
  const EntrySet limited = limiter.limit(set, max_peers);
  TRANSLOAD_CHECK(limiter.most_peers(limited) <= max_peers, "only chosen pairs exchange bytes");
  return to_routes(limited, fabric);
}

}  // namespace transload
