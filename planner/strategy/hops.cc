#include "planner/strategy/hops.h"

#include <algorithm>
#include <tuple>

#include "planner/strategy/list_order.h"

namespace transload {
namespace {

// Colours the transfers in list order: a colour holds each port at most once per unit, and a port's
// colours rise along its list.
std::vector<std::int32_t> colour_groups(const std::vector<std::uint32_t>& order,
                                        const std::vector<PortJob>& jobs, const Fabric& fabric,
                                        std::uint32_t colours) {
  struct PortState {
    std::int32_t colour = 0;
    std::uint32_t used = 0;
  };
  std::vector<PortState> ports(fabric.port_rate.size());
  std::vector<std::int32_t> groups(jobs.size());
  const auto earliest = [&](std::int32_t port) {
    const PortState& state = ports[static_cast<std::size_t>(port)];
    return state.colour + (state.used < fabric.port_units[static_cast<std::size_t>(port)] ? 0 : 1);
  };
  const auto use = [&](std::int32_t port, std::int32_t colour) {
    PortState& state = ports[static_cast<std::size_t>(port)];
    state.used = state.colour == colour ? state.used + 1 : 1;
    state.colour = colour;
  };
  for (std::uint32_t job : order) {
    const std::int32_t colour = std::max(earliest(jobs[job].out_port), earliest(jobs[job].in_port));
    use(jobs[job].out_port, colour);
    use(jobs[job].in_port, colour);
    groups[job] = colour / static_cast<std::int32_t>(colours);
  }
  return groups;
}

class HopMaker {
 public:
  HopMaker(const ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
           const std::vector<Chunk>& chunks)
      : runs_(runs), fabric_(fabric), routes_(routes), chunks_(chunks) {}

  void add_chunk(std::uint32_t number, std::int32_t group, std::vector<Hop>& hops) const {
    const Chunk& chunk = chunks_[number];
    const Route& route = routes_.routes[chunk.route];
    const RangeRuns at_source =
        runs_.on_rank(route.demand_class, chunk.begin, chunk.bytes, route.source, Side::kSource);
    Hop first{number,
              0,
              group,
              route.source,
              route.landing,
              route.out_port,
              route.in_port,
              !at_source.single,
              false,
              static_cast<std::uint32_t>(std::min<std::int64_t>(at_source.mean_run, UINT32_MAX)),
              0};
    land(first, chunk, route, route.fan_out_count > 0);
    hops.push_back(first);
    for (std::uint32_t j = 0; j < route.fan_out_count; ++j) {
      const Rank to = routes_.fan_out[route.fan_out_first + j];
      Hop next{number,
               static_cast<std::uint16_t>(j + 1),
               group == kNone ? kNone : group + 1,
               route.landing,
               to,
               fabric_.ranks[static_cast<std::size_t>(route.landing)].nvlink_out,
               fabric_.ranks[static_cast<std::size_t>(to)].nvlink_in,
               false,
               false,
               0,
               0};
      land(next, chunk, route, false);
      hops.push_back(next);
    }
  }

 private:
  // A chunk that is handed on must stay in a slot; others may go straight into their tensor.
  void land(Hop& hop, const Chunk& chunk, const Route& route, bool handed_on) const {
    const RangeRuns at = runs_.on_rank(route.demand_class, chunk.begin, chunk.bytes,
                                       hop.destination, Side::kDestination);
    hop.unpacks = handed_on || !at.single;
    hop.unpack_run = static_cast<std::uint32_t>(std::min<std::int64_t>(at.mean_run, UINT32_MAX));
  }

  const ClassRuns& runs_;
  const Fabric& fabric_;
  const RouteSet& routes_;
  const std::vector<Chunk>& chunks_;
};

// Under groups a slot may only be reused two groups later (its chunk is handed on one group after
// it landed, and a group waits for all of its slots): as many slots as two neighbouring groups
// fill.
class GroupPeaks {
 public:
  explicit GroupPeaks(std::size_t ranks) : ranks_(ranks) {}
  void add(Rank rank, std::int32_t group) {
    State& state = ranks_[static_cast<std::size_t>(rank)];
    if (group != state.group) {
      state.before = group == state.group + 1 ? state.now : 0;
      state.now = 0;
      state.group = group;
    }
    ++state.now;
    state.peak = std::max(state.peak, state.now + state.before);
  }
  std::uint32_t peak(std::size_t rank) const { return ranks_[rank].peak; }

 private:
  struct State {
    std::int32_t group = -2;
    std::uint32_t now = 0;
    std::uint32_t before = 0;
    std::uint32_t peak = 0;
  };
  std::vector<State> ranks_;
};

}  // namespace

std::vector<Hop> order_hops(const ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
                            const std::vector<Chunk>& chunks, const EmitOptions& options) {
  std::vector<PortJob> jobs;
  jobs.reserve(chunks.size());
  for (const Chunk& chunk : chunks) {
    const Route& route = routes.routes[chunk.route];
    jobs.push_back({route.out_port, route.in_port, chunk.bytes});
  }
  const std::vector<std::uint32_t> order = list_order(jobs, fabric.port_rate, fabric.port_units);
  const bool grouped = options.discipline == Discipline::kGroups;
  std::vector<std::int32_t> groups;
  if (grouped) groups = colour_groups(order, jobs, fabric, options.colours);
  const HopMaker maker(runs, fabric, routes, chunks);
  std::vector<Hop> hops;
  for (std::uint32_t number : order)
    maker.add_chunk(number, grouped ? groups[number] : kNone, hops);
  if (grouped)
    std::stable_sort(hops.begin(), hops.end(),
                     [](const Hop& a, const Hop& b) { return a.group < b.group; });
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

StagingNeed staging_need(const std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                         const Fabric& fabric, const EmitOptions& options) {
  const std::size_t ranks = fabric.ranks.size();
  StagingNeed need{std::vector<std::uint32_t>(ranks, 0),
                   std::vector<std::uint32_t>(ranks, 0),
                   std::vector<std::int64_t>(ranks, 0),
                   std::vector<std::int64_t>(ranks, 0),
                   0,
                   0};
  const bool grouped = options.discipline == Discipline::kGroups;
  GroupPeaks sends(ranks);
  GroupPeaks landings(ranks);
  for (const Hop& hop : hops) {
    const std::int64_t bytes = chunks[hop.chunk].bytes;
    const auto source = static_cast<std::size_t>(hop.source);
    const auto destination = static_cast<std::size_t>(hop.destination);
    if (hop.packs) {
      ++need.send_slots[source];
      need.send_bytes[source] = std::max(need.send_bytes[source], bytes);
      if (grouped) sends.add(hop.source, hop.group);
    }
    if (hop.unpacks) {
      ++need.land_slots[destination];
      need.land_bytes[destination] = std::max(need.land_bytes[destination], bytes);
      if (grouped) landings.add(hop.destination, hop.group);
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::uint32_t units = 1;
    for (std::int32_t port : fabric.ranks[rank].nic_out)
      units = std::max(units, fabric.port_units[static_cast<std::size_t>(port)]);
    const std::uint32_t window_slots =
        2 * options.window * units *
        std::max<std::uint32_t>(1, static_cast<std::uint32_t>(fabric.ranks[rank].nic_out.size()));
    need.send_slots[rank] =
        std::min(need.send_slots[rank], grouped ? sends.peak(rank) : window_slots);
    need.land_slots[rank] =
        std::min(need.land_slots[rank], grouped ? landings.peak(rank) : window_slots);
    const std::int64_t bytes = need.send_slots[rank] * need.send_bytes[rank] +
                               need.land_slots[rank] * need.land_bytes[rank];
    if (bytes > need.most_bytes) {
      need.most_bytes = bytes;
      need.most_rank = static_cast<Rank>(rank);
    }
  }
  return need;
}

}  // namespace transload
