#include "planner/strategy/hops.h"

#include <algorithm>

#include "common/check.h"
#include "common/units.h"
#include "planner/strategy/colouring.h"
#include "planner/strategy/list_order.h"

namespace transload {
namespace {

std::uint32_t short_run(std::int64_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(bytes, UINT32_MAX));
}

// Every chunk's hops, parents before children.
class HopMaker {
 public:
  HopMaker(const ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
           const RouteTrees& trees, const std::vector<Chunk>& chunks)
      : runs_(runs), fabric_(fabric), routes_(routes), trees_(trees), chunks_(chunks) {}

  std::vector<Hop> make() {
    for (std::uint32_t c = 0; c < chunks_.size(); ++c) add_route(c, chunks_[c].route, kNoHop);
    return std::move(hops_);
  }

 private:
  void add_route(std::uint32_t number, std::uint32_t r, std::uint32_t from) {
    const Chunk& chunk = chunks_[number];
    const Route& route = routes_.routes[r];
    const std::uint32_t id =
        add_hop(number, from, route.source, route.landing, {route.out_port, route.in_port});
    hops_[id].wanted = route.wanted;
    if (from == kNoHop) {
      const RangeRuns at =
          runs_.on_rank(route.demand_class, chunk.begin, chunk.bytes, route.source, Side::kSource);
      hops_[id].packs = !at.single;
      hops_[id].pack_run = short_run(at.mean_run);
    }
    for (std::uint32_t j = 0; j < route.fan_out_count; ++j) {
      const Rank to = routes_.fan_out[route.fan_out_first + j];
      land(add_hop(number, id, route.landing, to,
                   {fabric_.ranks[static_cast<std::size_t>(route.landing)].nvlink_out,
                    fabric_.ranks[static_cast<std::size_t>(to)].nvlink_in}));
    }
    for (const std::uint32_t child : trees_.children(r)) {
      const Route& next = routes_.routes[child];
      if (next.begin <= chunk.begin && chunk.begin + chunk.bytes <= next.end)
        add_route(number, child, id);
    }
    land(id);
  }

  std::uint32_t add_hop(std::uint32_t number, std::uint32_t from, Rank source, Rank destination,
                        PortPair ports) {
    Hop hop;
    hop.chunk = number;
    hop.id = static_cast<std::uint32_t>(hops_.size());
    hop.from = from;
    hop.source = source;
    hop.destination = destination;
    hop.out_port = ports.out;
    hop.in_port = ports.in;
    if (from != kNoHop) {
      hop.depth = static_cast<std::uint16_t>(hops_[from].depth + 1);
      ++hops_[from].forwards;
    }
    hops_.push_back(hop);
    return hop.id;
  }

  // A chunk that is handed on must stay in a slot; others may go straight into their tensor.
  void land(std::uint32_t id) {
    Hop& hop = hops_[id];
    hop.lands = hop.forwards > 0;
    if (!hop.wanted) {
      TRANSLOAD_CHECK(hop.lands, "a relay hands on all that it lands");
      return;
    }
    const Chunk& chunk = chunks_[hop.chunk];
    const RangeRuns at = runs_.on_rank(routes_.routes[chunk.route].demand_class, chunk.begin,
                                       chunk.bytes, hop.destination, Side::kDestination);
    hop.lands |= !at.single;
    hop.unpack_run = short_run(at.mean_run);
  }

  const ClassRuns& runs_;
  const Fabric& fabric_;
  const RouteSet& routes_;
  const RouteTrees& trees_;
  const std::vector<Chunk>& chunks_;
  std::vector<Hop> hops_;
};

// Which hops list scheduling orders: those that leave a holder, and forwards over a NIC. Other hops
// follow what they hand on; NVLink hops to a rank that only lends its NIC go directly before it.
class HopOrder {
 public:
  HopOrder(const std::vector<Hop>& hops, const std::vector<Chunk>& chunks, const Fabric& fabric)
      : hops_(hops),
        leads_(hops.size(), false),
        follows_(hops.size(), false),
        follower_first_(hops.size() + 1, 0) {
    std::vector<std::uint32_t> job_of(hops.size(), kNoJob);  // or of its nearest ancestor with one
    const auto over_nvlink = [&](const Hop& hop) {
      return fabric.ranks[static_cast<std::size_t>(hop.source)].nvlink_out == hop.out_port;
    };
    for (const Hop& hop : hops) {
      const bool nvlink = over_nvlink(hop);
      const std::uint32_t before = hop.from == kNoHop ? kNoJob : job_of[hop.from];
      // Its one forward stands next: hops are made parents first.
      if (hop.from == kNoHop && nvlink && !hop.wanted && hop.forwards == 1 &&
          !over_nvlink(hops[hop.id + 1])) {
        leads_[hop.id] = true;
        continue;
      }
      if (hop.from != kNoHop && nvlink) {
        job_of[hop.id] = before;
        follows_[hop.id] = true;
        ++follower_first_[hop.from + 1];
        continue;
      }
      job_of[hop.id] = static_cast<std::uint32_t>(jobs_.size());
      jobs_.push_back({hop.out_port, hop.in_port, chunks[hop.chunk].bytes, before});
      hop_of_job_.push_back(hop.id);
    }
    link_followers();
  }

  std::vector<Hop> in_order(const Fabric& fabric, const ForwardRules& rules) const {
    std::vector<Hop> ordered;
    ordered.reserve(hops_.size());
    for (const std::uint32_t job : best_order(fabric, rules)) {
      const std::uint32_t from = hops_[hop_of_job_[job]].from;
      if (from != kNoHop && leads_[from]) ordered.push_back(hops_[from]);
      add_with_followers(hop_of_job_[job], ordered);
    }
    return ordered;
  }

 private:
  // The shortest of the list schedules by several rules; without forwards they are all one.
  std::vector<std::uint32_t> best_order(const Fabric& fabric, const ForwardRules& base) const {
    std::vector<ForwardRules> candidates = {base};
    if (std::any_of(jobs_.begin(), jobs_.end(),
                    [](const PortJob& job) { return job.after != kNoJob; })) {
      ForwardRules rules = base;
      rules.paced = rules.spread = true;
      candidates.push_back(rules);
      rules.make_room = true;
      candidates.push_back(rules);
    }
    ListOrder best;
    for (const ForwardRules& rules : candidates) {
      ListOrder order = list_order(jobs_, fabric.port_rate, fabric.port_units, rules);
      if (best.jobs.empty() || order.makespan_ps < best.makespan_ps) best = std::move(order);
    }
    return best.jobs;
  }

  void link_followers() {
    for (std::size_t i = 0; i < hops_.size(); ++i) follower_first_[i + 1] += follower_first_[i];
    follower_.resize(follower_first_.back());
    std::vector<std::uint32_t> next(follower_first_.begin(), follower_first_.end() - 1);
    for (const Hop& hop : hops_)
      if (follows_[hop.id]) follower_[next[hop.from]++] = hop.id;
  }

  void add_with_followers(std::uint32_t id, std::vector<Hop>& ordered) const {
    ordered.push_back(hops_[id]);
    for (std::uint32_t i = follower_first_[id]; i < follower_first_[id + 1]; ++i)
      add_with_followers(follower_[i], ordered);
  }

  const std::vector<Hop>& hops_;
  std::vector<PortJob> jobs_;
  std::vector<std::uint32_t> hop_of_job_;
  std::vector<bool> leads_;    // by hop: goes directly before the one that forwards it
  std::vector<bool> follows_;  // by hop: goes directly after the one that lands it
  std::vector<std::uint32_t> follower_first_;
  std::vector<std::uint32_t> follower_;
};

std::int64_t largest(const std::vector<Chunk>& chunks) {
  std::int64_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes = std::max(bytes, chunk.bytes);
  return bytes;
}

}  // namespace

std::vector<Hop> order_hops(const ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
                            const RouteTrees& trees, const std::vector<Chunk>& chunks,
                            const EmitOptions& options) {
  const std::vector<Hop> made = HopMaker(runs, fabric, routes, trees, chunks).make();
  const bool grouped = options.discipline == Discipline::kGroups;
  ForwardRules rules;
  rules.held_landings = grouped ? options.colours : options.window;
  if (grouped) rules.delay_ps = options.colours * duration_ps(largest(chunks), fabric.slowest_nic);
  std::vector<Hop> hops = HopOrder(made, chunks, fabric).in_order(fabric, rules);
  if (grouped) {
    colour_groups(hops, fabric, options.colours);
    std::stable_sort(hops.begin(), hops.end(),
                     [](const Hop& a, const Hop& b) { return a.group < b.group; });
  }
  return hops;
}

std::uint32_t most_operations_per_group(const std::vector<Hop>& hops, std::size_t ranks) {
  std::vector<std::pair<std::int32_t, std::uint32_t>> state(ranks, {kNone, 0});
  std::uint32_t most = 0;
  for (const Hop& hop : hops) {
    for (Rank rank : {hop.source, hop.destination}) {
      auto& [group, count] = state[static_cast<std::size_t>(rank)];
      if (group != hop.group) {
        group = hop.group;
        count = 0;
      }
      most = std::max(most, ++count);
    }
  }
  return most;
}

}  // namespace transload
