#include "planner/strategy/transload/relief_routes.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "common/check.h"

namespace transload {
namespace {

// A byte range of a class and the route that brings it somewhere.
struct Landed {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t route = kNoRoute;
};

class RouteMaker {
 public:
  RouteMaker(const ReliefGroups& groups, const RouteSet& network, const ReliefInput& input)
      : groups_(groups), network_(network), input_(input), fabric_(input.fabric) {}

  RouteSet make() {
    result_.locals = network_.locals;
    built_.resize(network_.routes.size());
    find_served_senders();
    // What others forward comes first.
    for (std::size_t g = 0; g < groups_.groups.size(); ++g)
      if (groups_.groups[g].routes.empty()) make_open(g);
    std::vector<std::size_t> group_of(network_.routes.size(), kNoGroup);
    for (std::size_t g = 0; g < groups_.groups.size(); ++g)
      if (!is_new(g))
        for (const std::uint32_t r : groups_.groups[g].routes) group_of[r] = g;
    for (std::uint32_t r = 0; r < network_.routes.size(); ++r)
      if (group_of[r] != kNoGroup) keep(r, groups_.courses[group_of[r]].changed);
    for (std::size_t g = 0; g < groups_.groups.size(); ++g) {
      if (groups_.groups[g].routes.empty() || !groups_.courses[g].changed) continue;
      if (is_new(g))
        make_open(g);
      else
        make_spread(g);
    }
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kNoGroup = SIZE_MAX;

  // Whether the network routes of the group are made anew.
  bool is_new(std::size_t g) const {
    return groups_.courses[g].changed && groups_.groups[g].landing == kNone;
  }

  const RankPorts& ports(Rank rank) const { return fabric_.ranks[static_cast<std::size_t>(rank)]; }

  bool is_served(std::uint32_t demand_class, Rank rank) const {
    const std::span<const Rank> served = groups_.sets.of(groups_.served[demand_class]);
    return std::binary_search(served.begin(), served.end(), rank);
  }

  // Whose NICs send what their domain gives them.
  void find_served_senders() {
    for (std::size_t g = 0; g < groups_.groups.size(); ++g)
      for (const CourseShare& share : groups_.courses[g].shares) {
        if (share.course.out_port == kNone || share.course.holder != kNone) continue;
        for (const Stretch& stretch : groups_.groups[g].stretches)
          served_senders_.emplace(stretch.demand_class, share.course.sender);
      }
    for (const Route& route : network_.routes)
      if (route.parent != kNoRoute && is_pool(network_, route.parent, fabric_) &&
          is_served(route.demand_class, route.source))
        served_senders_.emplace(route.demand_class, route.source);
  }

  std::uint32_t append(Route route, std::span<const Rank> fan_out) {
    route.fan_out_first = static_cast<std::uint32_t>(result_.fan_out.size());
    route.fan_out_count = static_cast<std::uint32_t>(fan_out.size());
    result_.fan_out.insert(result_.fan_out.end(), fan_out.begin(), fan_out.end());
    result_.routes.push_back(route);
    const auto number = static_cast<std::uint32_t>(result_.routes.size() - 1);
    if (served_senders_.contains({route.demand_class, route.landing}))
      landed_[{route.demand_class, route.landing}].push_back({route.begin, route.end, number});
    return number;
  }

  // One route for every part of the range that another parent brings.
  std::vector<Landed> append_below(Route route, std::span<const Landed> parents,
                                   std::span<const Rank> fan_out) {
    std::vector<Landed> made;
    const std::int64_t begin = route.begin;
    const std::int64_t end = route.end;
    std::int64_t covered = 0;
    for (const Landed& parent : parents) {
      route.begin = std::max(begin, parent.begin);
      route.end = std::min(end, parent.end);
      if (route.begin >= route.end) continue;
      route.parent = parent.route;
      made.push_back({route.begin, route.end, append(route, fan_out)});
      covered += route.end - route.begin;
    }
    TRANSLOAD_CHECK(covered == end - begin, "what is forwarded has landed");
    return made;
  }

  // As it is; without its fan-out where that changes.
  void keep(std::uint32_t r, bool alone) {
    Route route = network_.routes[r];
    std::vector<Rank> fan_out;
    if (!alone)
      fan_out.assign(network_.fan_out.begin() + route.fan_out_first,
                     network_.fan_out.begin() + route.fan_out_first + route.fan_out_count);
    if (route.parent == kNoRoute) {
      built_[r] = {{route.begin, route.end, append(route, fan_out)}};
      return;
    }
    std::vector<Landed>& parents = built_[route.parent];
    if (is_pool(network_, route.parent, fabric_)) {
      if (is_served(route.demand_class, route.source)) {
        built_[r] = append_below(route, landed_.at({route.demand_class, route.source}), fan_out);
        return;
      }
      const Route& pool = network_.routes[route.parent];
      if (parents.empty()) parents = {{pool.begin, pool.end, append(pool, {})}};
    }
    built_[r] = append_below(route, parents, fan_out);
  }

  // Calls `visit(stretch number, route with class and range, course)` for every piece.
  template <class Visit>
  void for_each_piece(std::size_t g, Visit&& visit) {
    std::vector<CourseShare> sorted = groups_.courses[g].shares;
    const auto key = [](const CourseShare& share) {
      const Course& c = share.course;
      return std::tuple(c.out_port, c.holder, c.first, c.in_port, c.hub, c.direct, c.direct_sender);
    };
    std::sort(sorted.begin(), sorted.end(),
              [&](const CourseShare& a, const CourseShare& b) { return key(a) < key(b); });
    std::vector<PortShare> shares;
    for (const CourseShare& share : sorted)
      shares.push_back({share.course.out_port, share.course.first, share.bytes});
    const std::vector<Stretch>& stretches = groups_.groups[g].stretches;
    const std::vector<std::vector<Piece>> pieces =
        cut_line(stretches, shares, input_.cuts, input_.tolerance);
    for (std::size_t s = 0; s < pieces.size(); ++s) {
      Route route;
      route.demand_class = stretches[s].demand_class;
      route.begin = stretches[s].begin;
      for (const Piece& piece : pieces[s]) {
        route.end = piece.end;
        if (route.begin < route.end) visit(s, route, sorted[piece.share].course);
        route.begin = piece.end;
      }
    }
  }

  void make_open(std::size_t g) {
    for_each_piece(g, [&](std::size_t, const Route& route, const Course& course) {
      const std::vector<Rank> receivers = serve_directly(g, route, course);
      if (course.out_port == kNone)
        spread(route, course, receivers, {});
      else
        enter(route, course, receivers);
    });
  }

  void make_spread(std::size_t g) {
    for_each_piece(g, [&](std::size_t s, const Route& route, const Course& course) {
      spread(route, course, serve_directly(g, route, course), built_[groups_.groups[g].routes[s]]);
    });
  }

  // Returns the receivers that are left.
  std::vector<Rank> serve_directly(std::size_t g, Route route, const Course& course) {
    std::vector<Rank> left;
    for (const Rank rank : groups_.courses[g].ends.receivers)
      if (rank != course.direct) left.push_back(rank);
    if (course.direct == kNone || course.direct_sender == course.hub) return left;
    append(direct_route(route, course), {});
    return left;
  }

  static Route direct_route(Route route, const Course& course) {
    route.source = course.direct_sender;
    route.landing = course.direct;
    route.out_port = course.direct_out_port;
    route.in_port = course.direct_in_port;
    return route;
  }

  // Over the network to the first rank, and on from there.
  void enter(const Route& range, const Course& course, std::span<const Rank> receivers) {
    Route route = range;
    route.source = course.sender;
    route.landing = course.first;
    route.out_port = course.out_port;
    route.in_port = course.in_port;
    route.wanted = std::binary_search(receivers.begin(), receivers.end(), course.first);
    const Others others = others_of(range.demand_class, course, receivers);
    const std::span<const Rank> fan_out =
        course.hub == kNone ? std::span<const Rank>(others.last) : std::span<const Rank>();
    std::vector<Landed> entered;
    if (course.holder == kNone) {
      entered = append_below(route, landed_.at({route.demand_class, course.sender}), fan_out);
    } else if (course.holder == course.sender) {
      entered = {{route.begin, route.end, append(route, fan_out)}};
    } else {
      Route pool = range;
      pool.source = course.holder;
      pool.landing = course.sender;
      pool.out_port = ports(course.holder).nvlink_out;
      pool.in_port = ports(course.sender).nvlink_in;
      pool.wanted = false;
      const Landed parent{pool.begin, pool.end, append(pool, {})};
      entered = append_below(route, {&parent, 1}, fan_out);
    }
    if (course.hub != kNone)
      spread(range, course, receivers, entered);
    else
      for (const Rank rank : others.senders)
        hand(range, course.first, rank, receivers, entered, {});
  }

  // Who gets the bytes from the first rank or the hub. Ranks that send them on over a NIC have a
  // route of their own.
  struct Others {
    std::vector<Rank> last;
    std::vector<Rank> senders;
  };
  Others others_of(std::uint32_t demand_class, const Course& course,
                   std::span<const Rank> receivers) const {
    Others others;
    for (const Rank rank : receivers) {
      if (rank == course.first || rank == course.hub) continue;
      const bool sends = served_senders_.contains({demand_class, rank});
      (sends ? others.senders : others.last).push_back(rank);
    }
    return others;
  }

  // Over NVLink; `below`: what lands the range at `from`, or nothing where `from` holds it.
  std::vector<Landed> hand(const Route& range, Rank from, Rank to, std::span<const Rank> receivers,
                           std::span<const Landed> below, std::span<const Rank> fan_out) {
    Route route = range;
    route.source = from;
    route.landing = to;
    route.out_port = ports(from).nvlink_out;
    route.in_port = ports(to).nvlink_in;
    route.wanted = std::binary_search(receivers.begin(), receivers.end(), to);
    if (!below.empty()) return append_below(route, below, fan_out);
    return {{route.begin, route.end, append(route, fan_out)}};
  }

  // Over NVLink from the first rank, which lands the range by `parents`; none: it holds it.
  void spread(const Route& range, const Course& course, std::span<const Rank> receivers,
              std::span<const Landed> parents) {
    if (course.hub == kNone) {
      for (const Rank rank : receivers)
        if (rank != course.first) hand(range, course.first, rank, receivers, parents, {});
      return;
    }
    const Others others = others_of(range.demand_class, course, receivers);
    const std::vector<Landed> at_hub =
        hand(range, course.first, course.hub, receivers, parents, others.last);
    for (const Rank rank : others.senders) hand(range, course.hub, rank, receivers, at_hub, {});
    if (course.direct != kNone && course.direct_sender == course.hub)
      append_below(direct_route(range, course), at_hub, {});
  }

  const ReliefGroups& groups_;
  const RouteSet& network_;
  const ReliefInput& input_;
  const Fabric& fabric_;
  std::set<std::pair<std::uint32_t, Rank>> served_senders_;  // class and rank
  std::map<std::pair<std::uint32_t, Rank>, std::vector<Landed>> landed_;
  std::vector<std::vector<Landed>> built_;  // by route of the network
  RouteSet result_;
};

}  // namespace

RouteSet routes_of(const ReliefGroups& groups, const RouteSet& network, const ReliefInput& input) {
  return RouteMaker(groups, network, input).make();
}

}  // namespace transload
