#include "planner/strategy/hops.h"

#include <algorithm>

#include "common/check.h"
#include "common/units.h"
#include "planner/strategy/even_order.h"
#include "planner/strategy/group_fill.h"
#include "planner/strategy/list_order.h"

namespace transload {
namespace {

std::uint32_t short_run(std::int64_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::int64_t>(bytes, UINT32_MAX));
}

// Every chunk's hops, parents before children.
class HopMaker {
 public:
  HopMaker(ClassRuns& runs, const Fabric& fabric, const RouteSet& routes, const RouteTrees& trees,
           const std::vector<Chunk>& chunks, bool stream_forwards)
      : runs_(runs),
        fabric_(fabric),
        routes_(routes),
        trees_(trees),
        chunks_(chunks),
        stream_forwards_(stream_forwards) {}

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
    if (stream_forwards_ && from != kNoHop && over_nic(hops_[id]) && over_nic(hops_[from]))
      hops_[id].streams = hops_[from].streamed = true;
    if (from == kNoHop) {
      const RangeRuns at =
          runs_.on_rank(route.demand_class, chunk.begin, chunk.bytes, route.source, Side::kSource);
      hops_[id].packs = !at.single || runs_.converts(route.demand_class);
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

  bool over_nic(const Hop& hop) const {
    return fabric_.port_network[static_cast<std::size_t>(hop.out_port)] != kNone;
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
    const RangeRuns at = runs_.on_rank(chunk.demand_class, chunk.begin, chunk.bytes,
                                       hop.destination, Side::kDestination);
    hop.lands |= !at.single;
    hop.unpack_run = short_run(at.mean_run);
  }

  ClassRuns& runs_;
  const Fabric& fabric_;
  const RouteSet& routes_;
  const RouteTrees& trees_;
  const std::vector<Chunk>& chunks_;
  bool stream_forwards_;
  std::vector<Hop> hops_;
};

bool over_nvlink(const Fabric& fabric, const Hop& hop) {
  return fabric.ranks[static_cast<std::size_t>(hop.source)].nvlink_out == hop.out_port;
}

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
    std::vector<bool> inside(hops.size(), false);  // NVLink all the way: ordered by itself
    for (const Hop& hop : hops) {
      const bool nvlink = over_nvlink(fabric, hop);
      inside[hop.id] = nvlink && (hop.from == kNoHop || inside[hop.from]);
      const std::uint32_t before = hop.from == kNoHop ? kNoJob : job_of[hop.from];
      // Its one forward stands next: hops are made parents first.
      if (hop.from == kNoHop && nvlink && !hop.wanted && hop.forwards == 1 &&
          !over_nvlink(fabric, hops[hop.id + 1])) {
        leads_[hop.id] = true;
        continue;
      }
      if (hop.from != kNoHop && nvlink && !inside[hop.id]) {
        job_of[hop.id] = before;
        follows_[hop.id] = true;
        ++follower_first_[hop.from + 1];
        continue;
      }
      job_of[hop.id] = static_cast<std::uint32_t>(jobs_.size());
      jobs_.push_back({hop.out_port, hop.in_port, chunks[hop.chunk].bytes, before, hop.streams});
      hop_of_job_.push_back(hop.id);
    }
    link_followers();
  }

  // `rates`: of all ports, to order by.
  OrderedHops in_order(const Fabric& fabric, const std::vector<std::int64_t>& rates,
                       const ForwardRules& rules) const {
    const ListOrder order = best_order(fabric, rates, rules);
    std::vector<Hop> ordered;
    ordered.reserve(hops_.size());
    for (const std::uint32_t job : order.jobs) {
      const std::uint32_t from = hops_[hop_of_job_[job]].from;
      if (from != kNoHop && leads_[from]) ordered.push_back(hops_[from]);
      add_with_followers(hop_of_job_[job], ordered);
    }
    return {std::move(ordered), order.makespan_ps};
  }

 private:
  // The shortest of the list schedules by several rules, or the first that is good enough; without
  // forwards they are all one.
  ListOrder best_order(const Fabric& fabric, const std::vector<std::int64_t>& rates,
                       const ForwardRules& base) const {
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
    const std::int64_t busiest = busiest_port_ps(rates);
    for (const ForwardRules& rules : candidates) {
      if (!best.jobs.empty() && best.makespan_ps <= busiest + busiest / kGoodEnoughDivisor) break;
      ListOrder order = list_order(jobs_, rates, fabric.port_units, rules);
      if (best.jobs.empty() || order.makespan_ps < best.makespan_ps) best = std::move(order);
    }
    return best;
  }

  std::int64_t busiest_port_ps(const std::vector<std::int64_t>& rates) const {
    std::vector<std::int64_t> ps(rates.size(), 0);
    for (const PortJob& job : jobs_)
      for (const std::int32_t port : {job.out_port, job.in_port})
        ps[static_cast<std::size_t>(port)] +=
            duration_ps(job.bytes, rates[static_cast<std::size_t>(port)]);
    return ps.empty() ? 0 : *std::max_element(ps.begin(), ps.end());
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

  // A list schedule within 0.5 % of the most loaded port is not tried to be shortened.
  static constexpr std::int64_t kGoodEnoughDivisor = 200;

  const std::vector<Hop>& hops_;
  std::vector<PortJob> jobs_;
  std::vector<std::uint32_t> hop_of_job_;
  std::vector<bool> leads_;    // by hop: goes directly before the one that forwards it
  std::vector<bool> follows_;  // by hop: goes directly after the one that lands it
  std::vector<std::uint32_t> follower_first_;
  std::vector<std::uint32_t> follower_;
};

// Port rates to order by: NVLink as slow as lets what it brings inside domains take as long as the
// network. Otherwise that would all come first, and what NVLink does beside it for the network
// (fan-out, other ranks' NICs) would wait.
std::vector<std::int64_t> paced_rates(const std::vector<Hop>& hops,
                                      const std::vector<Chunk>& chunks, const Fabric& fabric) {
  std::vector<std::int64_t> bytes(fabric.port_rate.size(), 0);
  std::vector<bool> nvlink(fabric.port_rate.size(), false);
  for (const Hop& hop : hops) {
    if (over_nvlink(fabric, hop) && (hop.from != kNoHop || !hop.wanted)) continue;
    for (const std::int32_t port : {hop.out_port, hop.in_port}) {
      bytes[static_cast<std::size_t>(port)] += chunks[hop.chunk].bytes;
      nvlink[static_cast<std::size_t>(port)] = over_nvlink(fabric, hop);
    }
  }
  std::int64_t network_ps = 0;
  std::int64_t inside_ps = 0;
  for (std::size_t port = 0; port < bytes.size(); ++port) {
    std::int64_t& most = nvlink[port] ? inside_ps : network_ps;
    most = std::max(most, duration_ps(bytes[port], fabric.port_rate[port]));
  }
  std::vector<std::int64_t> rates = fabric.port_rate;
  if (inside_ps == 0 || inside_ps >= network_ps) return rates;
  for (std::size_t port = 0; port < rates.size(); ++port)
    if (nvlink[port] && rates[port] > 0)
      rates[port] = std::max<std::int64_t>(
          1,
          static_cast<std::int64_t>(static_cast<__int128>(rates[port]) * inside_ps / network_ps));
  return rates;
}

// Under windows a forward stands half a window behind its landing: ports run ahead of each other by
// as much, and a port that has posted forwards of chunks still under way has nothing else to do.
// Long chains would wait too long, and landings that are forwarded more often than the window is
// deep keep their port busy anyway (measured: 1.35 x the bound instead of 1.10 with 30 forwards).
constexpr std::int64_t kDelayDivisor = 2;
constexpr std::int64_t kShallowDepth = 4;

std::int64_t largest(const std::vector<Chunk>& chunks) {
  std::int64_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes = std::max(bytes, chunk.bytes);
  return bytes;
}

}  // namespace

OrderedHops order_hops(ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
                       const RouteTrees& trees, const std::vector<Chunk>& chunks,
                       const EmitOptions& options) {
  const std::vector<Hop> made =
      HopMaker(runs, fabric, routes, trees, chunks, options.stream_forwards).make();
  const bool grouped = options.discipline == Discipline::kGroups;
  if (options.even_order && !grouped) return even_order(made, chunks, fabric, options.window);
  ForwardRules rules;
  rules.held_landings = grouped ? options.colours : options.window;
  const std::int64_t group_ps = options.colours * duration_ps(largest(chunks), fabric.slowest_nic);
  if (grouped)
    rules.delay_ps = group_ps;
  else if (trees.depth() <= kShallowDepth && trees.most_forwards() <= options.window)
    rules.delay_ps =
        options.window * duration_ps(largest(chunks), fabric.slowest_nic) / kDelayDivisor;
  const std::vector<std::int64_t> rates = paced_rates(made, chunks, fabric);
  OrderedHops result = HopOrder(made, chunks, fabric).in_order(fabric, rates, rules);
  if (grouped) {
    fill_groups(result.hops, chunks, fabric, rates, group_ps);
    std::stable_sort(result.hops.begin(), result.hops.end(),
                     [](const Hop& a, const Hop& b) { return a.group < b.group; });
  }
  return result;
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
