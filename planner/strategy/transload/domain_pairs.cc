#include "planner/strategy/transload/domain_pairs.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>

namespace transload {
namespace {

class PairChooser {
 public:
  PairChooser(const std::map<RankPair, std::int64_t>& used, const Fabric& fabric,
              const MayHelp& may_help, NarrowLinks& links)
      : used_(used), fabric_(fabric), links_(links), peers_(fabric.ranks.size(), 0) {
    std::vector<bool> takes_part = may_help;
    for (const auto& [pair, bytes] : used) {
      takes_part[static_cast<std::size_t>(pair.first)] = true;
      takes_part[static_cast<std::size_t>(pair.second)] = true;
    }
    for (std::size_t r = 0; r < fabric.ranks.size(); ++r)
      if (takes_part[r] && !fabric.ranks[r].nic_out.empty())
        ranks_[fabric.domain[r]].push_back(static_cast<Rank>(r));
  }

  // Adds the best pair of an edge that keeps both below the limit; false: there is none.
  bool add(const std::pair<std::int32_t, std::int32_t>& edge, std::int64_t limit) {
    std::optional<RankPair> best;
    Key least;
    std::map<Rank, std::int64_t>& in_edge = in_edge_[edge];
    for (const Rank a : ranks_[edge.first])
      for (const Rank b : ranks_[edge.second]) {
        const RankPair pair = std::minmax(a, b);
        const std::int64_t more = std::max(peers(a), peers(b));
        if (more >= limit || pairs_.contains(pair) || !joined(a, b)) continue;
        const auto bytes = used_.find(pair);
        const Key key{std::max(in_edge[a], in_edge[b]), more, peers(a) + peers(b),
                      bytes == used_.end() ? 0 : -bytes->second, pair};
        if (best && !(key < least)) continue;
        best = pair;
        least = key;
      }
    if (!best) return false;
    pairs_.insert(*best);
    for (const Rank rank : {best->first, best->second}) {
      ++peers_[static_cast<std::size_t>(rank)];
      ++in_edge[rank];
    }
    return true;
  }

  std::int64_t most() const { return *std::max_element(peers_.begin(), peers_.end()); }
  std::set<RankPair> take() { return std::move(pairs_); }

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, RankPair>;

  std::int64_t peers(Rank rank) const { return peers_[static_cast<std::size_t>(rank)]; }

  bool joined(Rank a, Rank b) {
    for (const std::int32_t out : fabric_.ranks[static_cast<std::size_t>(a)].nic_out)
      for (const std::int32_t in : fabric_.ranks[static_cast<std::size_t>(b)].nic_in)
        if (links_.between(out, in) != nullptr) return true;
    return false;
  }

  const std::map<RankPair, std::int64_t>& used_;
  const Fabric& fabric_;
  NarrowLinks& links_;
  std::map<std::int32_t, std::vector<Rank>> ranks_;  // by domain
  std::vector<std::int64_t> peers_;                  // by rank
  std::map<std::pair<std::int32_t, std::int32_t>, std::map<Rank, std::int64_t>> in_edge_;
  std::set<RankPair> pairs_;
};

}  // namespace

DomainPairs choose_pairs(const DomainGraph& graph, const std::map<RankPair, std::int64_t>& used,
                         const Fabric& fabric, const MayHelp& may_help, NarrowLinks& links,
                         std::int64_t max_peers) {
  PairChooser chooser(used, fabric, may_help, links);
  using Edge = std::pair<std::int32_t, std::int32_t>;
  std::vector<std::pair<std::int64_t, Edge>> edges;
  for (const auto& [edge, bytes] : graph) edges.emplace_back(-bytes, edge);
  std::sort(edges.begin(), edges.end());
  for (const auto& [bytes, edge] : edges)
    if (!chooser.add(edge, INT64_MAX)) return {};
  DomainPairs result;
  result.least = chooser.most();
  if (result.least > max_peers) return result;
  // The edge whose pairs carry most gets the next one.
  using Next = std::tuple<std::int64_t, std::int64_t, Edge>;  // bytes per pair, -pairs, edge
  std::priority_queue<Next> next;
  for (const auto& [bytes, edge] : edges) next.emplace(-bytes, -1, edge);
  while (!next.empty()) {
    const auto [share, count, edge] = next.top();
    next.pop();
    if (chooser.add(edge, max_peers)) next.emplace(graph.at(edge) / (1 - count), count - 1, edge);
  }
  result.pairs = chooser.take();
  return result;
}

}  // namespace transload
