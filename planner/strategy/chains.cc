#include "planner/strategy/chains.h"

#include <algorithm>

#include "planner/strategy/transload/inside.h"
#include "planner/strategy/transload/lines.h"
#include "planner/strategy/transload/route_layer.h"

namespace transload {
namespace {

// A cut may miss its exact place by this part of what the slowest NIC carries by the goal.
constexpr std::int64_t kCutsPerPort = 4000;
// Chains of a class side by side that are tried; fewer are longer.
constexpr std::size_t kChainCounts[] = {16, 8, 4, 3, 2};

// How one class comes into one domain.
struct Visit {
  std::size_t delivery = 0;
  std::size_t before = SIZE_MAX;  // the visit that forwards it here; none: a holder sends
  std::vector<Piece> source;      // of the heads of chains
  std::vector<Piece> landing;
  std::vector<std::uint32_t> routes;
};

// Bytes per port that holders send when every class has up to `chains` chains.
Deliveries heads_of(const Deliveries& all, std::size_t classes, std::size_t chains) {
  Deliveries heads;
  heads.sets = all.sets;
  heads.class_first.push_back(0);
  for (std::uint32_t c = 0; c < classes; ++c) {
    const std::size_t count = std::min(chains, all.copies(c));
    for (std::size_t i = 0; i < count; ++i)
      heads.network.push_back(all.network[all.class_first[c] + i * all.copies(c) / count]);
    heads.class_first.push_back(heads.network.size());
  }
  return heads;
}

class ChainAssigner {
 public:
  ChainAssigner(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
                const TransloadOptions& options)
      : problem_(problem),
        demand_(demand),
        fabric_(fabric),
        options_(options),
        deliveries_(make_deliveries(problem, demand, fabric)),
        cuts_(problem, demand),
        tolerance_(static_cast<std::int64_t>(static_cast<__int128>(fabric.slowest_nic) *
                                             options.goal_ps / 1'000'000'000'000 / kCutsPerPort)),
        landing_(landing_shares(deliveries_, demand, fabric, options.may_help, options.goal_ps)),
        layer_(problem, deliveries_, fabric) {
    choose_chains();
  }

  RouteSet assign() {
    layer_.set().locals = deliveries_.locals;
    make_visits();
    cut_source_lines();
    cut_landing_lines();
    for (Visit& visit : visits_) visit.before == SIZE_MAX ? add_head(visit) : add_forwards(visit);
    serve_inside(layer_.set(), deliveries_, demand_, fabric_, cuts_, tolerance_, options_.goal_ps);
    return std::move(layer_.set());
  }

 private:
  // The most chains that no holder's port is busy with beyond the goal; else one.
  void choose_chains() {
    for (const std::size_t chains : kChainCounts) {
      chains_ = chains;
      source_ = shares_of(chains);
      if (most_sent_ps() <= options_.goal_ps) return;
    }
    chains_ = 1;
    source_ = shares_of(1);
  }

  SourceShares shares_of(std::size_t chains) const {
    return source_shares(problem_, heads_of(deliveries_, demand_.classes.size(), chains), demand_,
                         fabric_, options_.may_help, options_.goal_ps, 0);
  }

  std::int64_t most_sent_ps() const {
    PortLoads loads(fabric_);
    for (const std::vector<PortShare>& shares : source_.of)
      for (const PortShare& share : shares) loads.add(share.port, share.bytes);
    std::int64_t most = 0;
    for (std::size_t port = 0; port < fabric_.port_rate.size(); ++port)
      most = std::max(most, loads.of(static_cast<std::int32_t>(port)));
    return most;
  }

  const Delivery& delivery_of(const Visit& visit) const {
    return deliveries_.network[visit.delivery];
  }
  std::uint32_t class_of(const Visit& visit) const { return delivery_of(visit).demand_class; }
  std::int64_t bytes_of(const Visit& visit) const { return demand_.classes[class_of(visit)].bytes; }
  std::uint32_t holders_of(const Visit& visit) const {
    return demand_.classes[class_of(visit)].holders;
  }

  // By domain: time of the NIC that holders load most.
  std::vector<std::int64_t> sent_by_domain() const {
    PortLoads loads(fabric_);
    std::vector<std::int64_t> sent(
        static_cast<std::size_t>(*std::max_element(fabric_.domain.begin(), fabric_.domain.end()) +
                                 1),
        0);
    for (const std::vector<PortShare>& shares : source_.of)
      for (const PortShare& share : shares) {
        loads.add(share.port, share.bytes);
        std::int64_t& most = sent[static_cast<std::size_t>(domain(share.rank))];
        most = std::max(most, loads.of(share.port));
      }
    return sent;
  }

  // Visits stand in the order of their chain. The domains whose own holders send most come last:
  // there nothing is forwarded.
  void make_visits() {
    const std::vector<std::int64_t> sent = sent_by_domain();
    std::vector<std::size_t> order;
    for (std::uint32_t c = 0; c < demand_.classes.size(); ++c) {
      order.clear();
      for (std::size_t d = deliveries_.class_first[c]; d < deliveries_.class_first[c + 1]; ++d)
        order.push_back(d);
      const auto sent_at = [&](std::size_t delivery) {
        return sent[static_cast<std::size_t>(deliveries_.network[delivery].domain)];
      };
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return sent_at(a) < sent_at(b); });
      const std::size_t chains = std::min(chains_, order.size());
      for (std::size_t chain = 0; chain < chains; ++chain)
        for (std::size_t i = chain; i < order.size(); i += chains)
          visits_.push_back({order[i], i == chain ? SIZE_MAX : visits_.size() - 1, {}, {}, {}});
    }
  }

  // Lays the classes of visits end to end, per rank set, and cuts them over the set's ports.
  template <class Wanted, class SetOf, class SharesOf, class PiecesOf>
  void cut_lines(std::size_t sets, const std::vector<std::size_t>& order, Wanted&& wanted,
                 SetOf&& set_of, SharesOf&& shares_of, PiecesOf&& pieces_of) {
    std::vector<std::vector<std::size_t>> lines(sets);
    for (const std::size_t v : order)
      if (wanted(visits_[v]) && bytes_of(visits_[v]) > 0) lines[set_of(visits_[v])].push_back(v);
    std::vector<Stretch> stretches;
    for (std::size_t set = 0; set < sets; ++set) {
      if (lines[set].empty()) continue;
      stretches.clear();
      for (const std::size_t v : lines[set])
        stretches.push_back({class_of(visits_[v]), 0, bytes_of(visits_[v])});
      std::vector<std::vector<Piece>> pieces =
          cut_line(stretches, shares_of(set), cuts_, tolerance_);
      for (std::size_t i = 0; i < lines[set].size(); ++i)
        pieces_of(visits_[lines[set][i]]) = std::move(pieces[i]);
    }
  }

  std::vector<std::size_t> visit_numbers() const {
    std::vector<std::size_t> numbers(visits_.size());
    for (std::size_t v = 0; v < numbers.size(); ++v) numbers[v] = v;
    return numbers;
  }

  // A source port serves one domain after the other, so that it has few peers.
  void cut_source_lines() {
    std::vector<std::size_t> by_domain = visit_numbers();
    std::stable_sort(by_domain.begin(), by_domain.end(), [&](std::size_t a, std::size_t b) {
      return delivery_of(visits_[a]).domain < delivery_of(visits_[b]).domain;
    });
    cut_lines(
        problem_.sets.size(), by_domain,
        [](const Visit& visit) { return visit.before == SIZE_MAX; },
        [&](const Visit& visit) { return holders_of(visit); },
        [&](std::size_t set) -> std::span<const PortShare> { return source_.of[set]; },
        [](Visit& visit) -> std::vector<Piece>& { return visit.source; });
  }

  void cut_landing_lines() {
    cut_lines(
        deliveries_.sets.size(), visit_numbers(), [](const Visit&) { return true; },
        [&](const Visit& visit) { return delivery_of(visit).receivers; },
        [&](std::size_t set) -> std::span<const PortShare> { return landing_[set]; },
        [](Visit& visit) -> std::vector<Piece>& { return visit.landing; });
  }

  void add_head(Visit& visit) {
    std::size_t s = 0;
    std::size_t l = 0;
    std::int64_t at = 0;
    while (s < visit.source.size() && l < visit.landing.size()) {
      const std::int64_t end = std::min(visit.source[s].end, visit.landing[l].end);
      if (at < end) {
        const PortShare& from = source_.of[holders_of(visit)][visit.source[s].share];
        Route route = stretch(visit, at, end);
        route.parent = layer_.bring_to(route, holders_of(visit), from.rank);
        route.source = from.rank;
        route.out_port = from.port;
        land(route, visit, landing_share(visit, visit.landing[l]));
      }
      if (visit.source[s].end == end) ++s;
      if (visit.landing[l].end == end) ++l;
      at = end;
    }
  }

  void add_forwards(Visit& visit) {
    std::int64_t at = 0;
    for (const Piece& piece : visit.landing) {
      for (const std::uint32_t parent : visits_[visit.before].routes) {
        const std::int64_t begin = std::max(at, layer_.set().routes[parent].begin);
        const std::int64_t end = std::min(piece.end, layer_.set().routes[parent].end);
        if (begin >= end) continue;
        Route route = stretch(visit, begin, end);
        route.source = layer_.set().routes[parent].landing;
        route.out_port =
            layer_.loads().least(fabric_.ranks[static_cast<std::size_t>(route.source)].nic_out);
        route.parent = parent;
        land(route, visit, landing_share(visit, piece));
      }
      at = piece.end;
    }
  }

  Route stretch(const Visit& visit, std::int64_t begin, std::int64_t end) const {
    Route route;
    route.demand_class = class_of(visit);
    route.begin = begin;
    route.end = end;
    return route;
  }

  const PortShare& landing_share(const Visit& visit, const Piece& piece) const {
    return landing_[delivery_of(visit).receivers][piece.share];
  }

  void land(const Route& route, Visit& visit, const PortShare& to) {
    visit.routes.push_back(layer_.land(route, delivery_of(visit).receivers, to));
  }

  std::int32_t domain(Rank rank) const { return fabric_.domain[static_cast<std::size_t>(rank)]; }

  const ReshardProblem& problem_;
  const Demand& demand_;
  const Fabric& fabric_;
  const TransloadOptions& options_;
  Deliveries deliveries_;
  ClassCuts cuts_;
  std::int64_t tolerance_;
  std::vector<std::vector<PortShare>> landing_;
  SourceShares source_;
  std::size_t chains_ = 1;
  RouteLayer layer_;
  std::vector<Visit> visits_;  // by class, chain by chain
};

}  // namespace

RouteSet assign_chains(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
                       const TransloadOptions& options) {
  return ChainAssigner(problem, demand, fabric, options).assign();
}

}  // namespace transload
