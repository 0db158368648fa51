#include "planner/strategy/transload/inside.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/units.h"
#include "planner/bound/balanced_flow.h"

namespace transload {
namespace {

// Ports may exceed the limit by this part of it before receivers help.
constexpr std::int64_t kToleranceDivisor = 200;

// Classes with the same holders in a domain and the same receivers there.
struct Group {
  std::uint32_t near = 0;
  std::uint32_t receivers = 0;
  std::vector<std::uint32_t> classes;
  std::int64_t bytes = 0;
  std::int64_t relayed = 0;        // of these bytes one receiver each gets them for all
  std::vector<PortShare> landing;  // who: one share for every receiver that does
};

class InsideServer {
 public:
  InsideServer(RouteSet& set, const Deliveries& deliveries, const Demand& demand,
               const Fabric& fabric, const ClassCuts& cuts, std::int64_t tolerance,
               std::int64_t goal_ps)
      : set_(set),
        deliveries_(deliveries),
        demand_(demand),
        fabric_(fabric),
        cuts_(cuts),
        tolerance_(tolerance),
        goal_ps_(goal_ps),
        rates_(fabric.port_rate),
        before_(rates_.size(), 0),
        shares_(deliveries.sets.size()) {
    for (std::int64_t& rate : rates_) rate = std::max<std::int64_t>(1, rate);
  }

  void serve() {
    make_groups();
    if (groups_.empty()) return;
    note_routes();
    std::vector<bool> late(groups_.size(), false);
    share(late);
    const std::int64_t limit = std::max(goal_ps_, most_taken_in());
    for (std::size_t g = 0; g < groups_.size(); ++g) late[g] = is_late(groups_[g], limit);
    if (std::find(late.begin(), late.end(), true) != late.end()) share(late);
    for (std::uint32_t near = 0; near < shares_.size(); ++near)
      if (!shares_[near].empty()) serve_line(near);
  }

 private:
  std::span<const Rank> ranks(std::uint32_t set) const { return deliveries_.sets.of(set); }
  std::int64_t copies(const Group& group) const {
    return static_cast<std::int64_t>(ranks(group.receivers).size());
  }
  const RankPorts& ports(Rank rank) const { return fabric_.ranks[static_cast<std::size_t>(rank)]; }

  void make_groups() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> known;
    for (const InsideDelivery& inside : deliveries_.inside) {
      const auto [at, added] =
          known.emplace(std::pair(inside.near, inside.receivers), groups_.size());
      if (added) groups_.push_back({inside.near, inside.receivers, {}, 0, 0, {}});
      groups_[at->second].classes.push_back(inside.demand_class);
      groups_[at->second].bytes += demand_.classes[inside.demand_class].bytes;
    }
  }

  // What NVLink carries for the network's sake.
  void note_routes() {
    for (const Route& route : set_.routes) {
      const std::int64_t bytes = route.end - route.begin;
      const RankPorts& source = ports(route.source);
      if (route.out_port == source.nvlink_out) before_[port(source.nvlink_out)] += bytes;
      if (route.fan_out_count > 0)
        before_[port(ports(route.landing).nvlink_out)] += bytes * route.fan_out_count;
    }
  }

  static std::size_t port(std::int32_t number) { return static_cast<std::size_t>(number); }

  std::vector<std::uint32_t> nvlink_out(std::uint32_t set) const {
    std::vector<std::uint32_t> found;
    for (const Rank rank : ranks(set))
      found.push_back(static_cast<std::uint32_t>(ports(rank).nvlink_out));
    std::sort(found.begin(), found.end());
    return found;
  }

  // How much each holder and, for late groups, each receiver sends.
  void share(const std::vector<bool>& late) {
    std::vector<FlowDemand> demands;
    for (const Group& group : groups_) {
      const std::vector<std::uint32_t> holders = nvlink_out(group.near);
      const std::int64_t first =
          late_copies(group, late) ? group.bytes : copies(group) * group.bytes;
      demands.push_back({first, holders});
      FlowDemand rest{copies(group) * group.bytes - first, holders};
      const std::vector<std::uint32_t> others = nvlink_out(group.receivers);
      rest.ports.insert(rest.ports.end(), others.begin(), others.end());
      std::sort(rest.ports.begin(), rest.ports.end());
      demands.push_back(std::move(rest));
    }
    for (std::uint32_t p = 0; p < before_.size(); ++p)
      if (before_[p] > 0) demands.push_back({before_[p], {p}});
    const std::vector<std::vector<std::int64_t>> bytes = balanced_flow(demands, rates_);
    load_.assign(rates_.size(), 0);
    for (std::size_t d = 0; d < demands.size(); ++d)
      for (std::size_t j = 0; j < demands[d].ports.size(); ++j)
        load_[demands[d].ports[j]] += bytes[d][j];
    for (std::vector<PortShare>& shares : shares_) shares.clear();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      take_shares(groups_[g], demands[2 * g], bytes[2 * g]);
      take_shares(groups_[g], demands[2 * g + 1], bytes[2 * g + 1]);
    }
  }

  bool late_copies(const Group& group, const std::vector<bool>& late) const {
    return late[static_cast<std::size_t>(&group - groups_.data())] && copies(group) > 1;
  }

  void take_shares(Group& group, const FlowDemand& demand, const std::vector<std::int64_t>& bytes) {
    const auto through = [&](Rank rank) -> std::int64_t {
      const auto wanted = static_cast<std::uint32_t>(ports(rank).nvlink_out);
      const auto at = std::lower_bound(demand.ports.begin(), demand.ports.end(), wanted);
      if (at == demand.ports.end() || *at != wanted) return 0;
      return bytes[static_cast<std::size_t>(at - demand.ports.begin())];
    };
    std::vector<PortShare>& holders = shares_[group.near];
    for (std::size_t i = 0; i < ranks(group.near).size(); ++i) {
      const Rank rank = ranks(group.near)[i];
      if (holders.size() <= i) holders.push_back({ports(rank).nvlink_out, rank, 0});
      holders[i].bytes += through(rank);
    }
    for (const Rank rank : ranks(group.receivers)) {
      // Each byte that a receiver hands on goes to all others.
      const std::int64_t landed = through(rank) / std::max<std::int64_t>(1, copies(group) - 1);
      if (landed <= tolerance_) continue;
      group.landing.push_back({ports(rank).nvlink_in, rank, landed});
      group.relayed += landed;
    }
    group.relayed = std::min(group.relayed, group.bytes);
  }

  // What the busiest receiver takes in over NVLink keeps it busy in any case.
  std::int64_t most_taken_in() const {
    std::vector<std::int64_t> in(rates_.size(), 0);
    for (const Group& group : groups_)
      for (const Rank rank : ranks(group.receivers)) in[port(ports(rank).nvlink_in)] += group.bytes;
    std::int64_t most = 0;
    for (std::size_t p = 0; p < in.size(); ++p)
      most = std::max(most, duration_ps(in[p], rates_[p]));
    return most;
  }

  bool is_late(const Group& group, std::int64_t limit) const {
    const std::vector<std::uint32_t> out = nvlink_out(group.near);
    return std::any_of(out.begin(), out.end(), [&](std::uint32_t p) {
      return duration_ps(load_[p], rates_[p]) > limit + limit / kToleranceDivisor;
    });
  }

  // A stretch and whom it goes to: one receiver, or kNone: one for all of the group.
  struct Leg {
    Stretch stretch;
    Rank to = kNone;
    std::size_t group = 0;
  };

  // Everything that one holder set sends, end to end, cut over its ports.
  void serve_line(std::uint32_t near) {
    std::vector<Leg> legs;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (groups_[g].near == near) add_legs(g, legs);
    std::vector<Stretch> stretches;
    for (const Leg& leg : legs) stretches.push_back(leg.stretch);
    const std::vector<std::vector<Piece>> source =
        cut_line(stretches, shares_[near], cuts_, tolerance_);
    std::size_t i = 0;
    while (i < legs.size()) {
      const std::size_t first = i;
      const std::size_t g = legs[i].group;
      for (; i < legs.size() && legs[i].group == g && legs[i].to == kNone;) ++i;
      if (first < i) add_relayed(legs, source, first, i);
      for (; i < legs.size() && legs[i].group == g && legs[i].to != kNone; ++i)
        add_direct(legs[i], source[i]);
    }
  }

  // What is relayed first, then the rest to each receiver.
  void add_legs(std::size_t g, std::vector<Leg>& legs) const {
    const Group& group = groups_[g];
    std::int64_t left = group.relayed;
    std::vector<std::int64_t> relayed;
    for (const std::uint32_t c : group.classes) {
      const std::int64_t bytes = demand_.classes[c].bytes;
      relayed.push_back(left >= bytes ? bytes : cuts_.near(c, left, tolerance_));
      left -= std::min(left, bytes);
      if (relayed.back() > 0) legs.push_back({{c, 0, relayed.back()}, kNone, g});
    }
    for (std::size_t i = 0; i < group.classes.size(); ++i) {
      const std::uint32_t c = group.classes[i];
      if (relayed[i] == demand_.classes[c].bytes) continue;
      for (const Rank rank : ranks(group.receivers))
        legs.push_back({{c, relayed[i], demand_.classes[c].bytes}, rank, g});
    }
  }

  void add_direct(const Leg& leg, const std::vector<Piece>& source) {
    std::int64_t at = leg.stretch.begin;
    for (const Piece& piece : source) {
      add(leg, at, piece.end, piece.share, leg.to);
      at = piece.end;
    }
  }

  void add_relayed(const std::vector<Leg>& legs, const std::vector<std::vector<Piece>>& source,
                   std::size_t first, std::size_t last) {
    const Group& group = groups_[legs[first].group];
    std::vector<Stretch> stretches;
    for (std::size_t i = first; i < last; ++i) stretches.push_back(legs[i].stretch);
    const std::vector<std::vector<Piece>> landing =
        cut_line(stretches, group.landing, cuts_, tolerance_);
    for (std::size_t i = first; i < last; ++i) {
      std::int64_t at = legs[i].stretch.begin;
      auto s = source[i].begin();
      auto l = landing[i - first].begin();
      while (s != source[i].end() && l != landing[i - first].end()) {
        const std::int64_t end = std::min(s->end, l->end);
        if (at < end) add(legs[i], at, end, s->share, group.landing[l->share].rank);
        if (s->end == end) ++s;
        if (l->end == end) ++l;
        at = end;
      }
    }
  }

  void add(const Leg& leg, std::int64_t begin, std::int64_t end, std::uint32_t share, Rank to) {
    const Group& group = groups_[leg.group];
    const PortShare& from = shares_[group.near][share];
    Route route;
    route.demand_class = leg.stretch.demand_class;
    route.begin = begin;
    route.end = end;
    route.source = from.rank;
    route.landing = to;
    route.out_port = from.port;
    route.in_port = ports(to).nvlink_in;
    route.fan_out_first = static_cast<std::uint32_t>(set_.fan_out.size());
    if (leg.to == kNone)
      for (const Rank rank : ranks(group.receivers))
        if (rank != to) set_.fan_out.push_back(rank);
    route.fan_out_count = static_cast<std::uint32_t>(set_.fan_out.size()) - route.fan_out_first;
    set_.routes.push_back(route);
  }

  RouteSet& set_;
  const Deliveries& deliveries_;
  const Demand& demand_;
  const Fabric& fabric_;
  const ClassCuts& cuts_;
  std::int64_t tolerance_;
  std::int64_t goal_ps_;
  std::vector<std::int64_t> rates_;   // by port
  std::vector<std::int64_t> before_;  // by port: bytes that the set's routes put on NVLink
  std::vector<std::int64_t> load_;    // by port: bytes
  std::vector<Group> groups_;
  std::vector<std::vector<PortShare>> shares_;  // by holder set
};

}  // namespace

void serve_inside(RouteSet& set, const Deliveries& deliveries, const Demand& demand,
                  const Fabric& fabric, const ClassCuts& cuts, std::int64_t tolerance,
                  std::int64_t goal_ps) {
  InsideServer(set, deliveries, demand, fabric, cuts, tolerance, goal_ps).serve();
}

}  // namespace transload
