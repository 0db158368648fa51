#include "planner/strategy/transload/relief_groups.h"

#include <algorithm>

namespace transload {
namespace {

class Grouper {
 public:
  Grouper(const RouteSet& network, const ReliefInput& input)
      : network_(network), input_(input), fabric_(input.fabric) {
    result_.load.assign(fabric_.port_rate.size(), 0);
  }

  ReliefGroups group() {
    find_served();
    find_open();
    group_network();
    group_inside();
    for (std::size_t g = 0; g < result_.groups.size(); ++g) start(g);
    return std::move(result_);
  }

 private:
  using Ways = std::map<std::tuple<Rank, Rank, std::int32_t, std::int32_t, Rank>, std::int64_t>;

  void find_served() {
    std::vector<std::vector<Rank>> ranks(input_.demand.classes.size());
    for (const InsideDelivery& inside : input_.deliveries.inside)
      for (const Rank rank : input_.deliveries.sets.of(inside.receivers))
        ranks[inside.demand_class].push_back(rank);
    for (std::vector<Rank>& served : ranks) {
      std::sort(served.begin(), served.end());
      result_.served.push_back(result_.sets.intern(std::move(served)));
    }
  }

  void find_open() {
    std::vector<bool> forwarded(network_.routes.size(), false);
    for (const Route& route : network_.routes)
      if (route.parent != kNoRoute) forwarded[route.parent] = true;
    for (std::uint32_t r = 0; r < network_.routes.size(); ++r) {
      const std::uint32_t parent = network_.routes[r].parent;
      result_.open.push_back(!forwarded[r] &&
                             (parent == kNoRoute || is_pool(network_, parent, fabric_)));
    }
  }

  std::size_t group_of(std::uint32_t holders, std::uint32_t receivers, std::uint32_t served,
                       Rank landing) {
    const auto [at, added] =
        known_.emplace(std::tuple(holders, receivers, served, landing), result_.groups.size());
    if (added) {
      result_.groups.push_back({holders, receivers, served, landing, {}, {}});
      ways_.emplace_back();
    }
    return at->second;
  }

  std::uint32_t receivers_of(const Route& route) {
    std::vector<Rank> receivers(
        network_.fan_out.begin() + route.fan_out_first,
        network_.fan_out.begin() + route.fan_out_first + route.fan_out_count);
    if (route.wanted) receivers.push_back(route.landing);
    std::sort(receivers.begin(), receivers.end());
    return result_.sets.intern(std::move(receivers));
  }

  bool is_served(std::uint32_t demand_class, Rank rank) const {
    const std::span<const Rank> served = result_.sets.of(result_.served[demand_class]);
    return std::binary_search(served.begin(), served.end(), rank);
  }

  void add_load(std::int32_t port, std::int64_t bytes) {
    result_.load[static_cast<std::size_t>(port)] += bytes;
  }

  void group_network() {
    for (std::uint32_t r = 0; r < network_.routes.size(); ++r) {
      if (is_pool(network_, r, fabric_)) continue;
      const Route& route = network_.routes[r];
      const std::int64_t bytes = route.end - route.begin;
      const bool pooled = route.parent != kNoRoute && is_pool(network_, route.parent, fabric_);
      const bool open = result_.open[r];
      const std::size_t g =
          group_of(input_.demand.classes[route.demand_class].holders, receivers_of(route),
                   open ? result_.served[route.demand_class] : 0, open ? kNone : route.landing);
      result_.groups[g].stretches.push_back({route.demand_class, route.begin, route.end});
      result_.groups[g].routes.push_back(r);
      const bool comes_anyway = pooled && is_served(route.demand_class, route.source);
      if (open) {
        const Rank holder = !pooled        ? route.source
                            : comes_anyway ? kNone
                                           : network_.routes[route.parent].source;
        ways_[g][{holder, route.source, route.out_port, route.in_port, route.landing}] += bytes;
        continue;
      }
      add_load(route.out_port, bytes);
      add_load(route.in_port, bytes);
      if (pooled && !comes_anyway) {
        add_load(network_.routes[route.parent].out_port, bytes);
        add_load(network_.routes[route.parent].in_port, bytes);
      }
    }
  }

  // To begin with, the holders share the bytes and send them to all.
  void group_inside() {
    for (const InsideDelivery& inside : input_.deliveries.inside) {
      const DemandClass& demand = input_.demand.classes[inside.demand_class];
      const std::span<const Rank> receivers = input_.deliveries.sets.of(inside.receivers);
      const std::size_t g = group_of(
          demand.holders, result_.sets.intern({receivers.begin(), receivers.end()}), 0, kNone);
      result_.groups[g].stretches.push_back({inside.demand_class, 0, demand.bytes});
      const std::span<const Rank> near = input_.deliveries.sets.of(inside.near);
      const auto before = [&](std::size_t k) {
        return static_cast<std::int64_t>(static_cast<__int128>(demand.bytes) *
                                         static_cast<std::int64_t>(k) /
                                         static_cast<std::int64_t>(near.size()));
      };
      for (std::size_t i = 0; i < near.size(); ++i)
        ways_[g][{near[i], kNone, kNone, kNone, near[i]}] += before(i + 1) - before(i);
    }
  }

  void start(std::size_t g) {
    const ReliefGroup& group = result_.groups[g];
    CourseGroup courses;
    courses.ends = {input_.problem.sets.of(group.holders), result_.sets.of(group.receivers),
                    group.landing, result_.sets.of(group.served)};
    if (group.landing != kNone) {
      Course course;
      course.first = group.landing;
      std::int64_t bytes = 0;
      for (const Stretch& stretch : group.stretches) bytes += stretch.end - stretch.begin;
      courses.shares.push_back({course, bytes});
    }
    for (const auto& [way, bytes] : ways_[g]) {
      const auto [holder, sender, out_port, in_port, first] = way;
      courses.shares.push_back({{holder, sender, out_port, in_port, first, kNone}, bytes});
    }
    std::vector<CourseUse> uses;
    for (const CourseShare& share : courses.shares) {
      uses.clear();
      course_uses(share.course, courses.ends.receivers, fabric_, uses);
      for (const CourseUse& use : uses) add_load(use.port, use.times * share.bytes);
    }
    result_.courses.push_back(std::move(courses));
  }

  const RouteSet& network_;
  const ReliefInput& input_;
  const Fabric& fabric_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, Rank>, std::size_t> known_;
  std::vector<Ways> ways_;  // by group
  ReliefGroups result_;
};

}  // namespace

bool is_pool(const RouteSet& set, std::uint32_t r, const Fabric& fabric) {
  const Route& route = set.routes[r];
  return route.parent == kNoRoute && !route.wanted && route.fan_out_count == 0 &&
         route.out_port == fabric.ranks[static_cast<std::size_t>(route.source)].nvlink_out;
}

ReliefGroups group_for_relief(const RouteSet& network, const ReliefInput& input) {
  return Grouper(network, input).group();
}

}  // namespace transload
