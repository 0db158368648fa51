#include "planner/strategy/transload/port_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "common/error.h"
#include "planner/bound/balanced_flow.h"
#include "planner/bound/capacity_flow.h"

namespace transload {
namespace {

// A link that costs no time carries anything; finite, so that sums do not overflow.
constexpr std::int64_t kFreeRate = std::int64_t{1} << 40;
// Ports may exceed the goal by this much before anybody else is asked to help.
constexpr std::int64_t kToleranceDivisor = 10'000;

std::vector<std::int64_t> rates_of(const Fabric& fabric) {
  std::vector<std::int64_t> rates = fabric.port_rate;
  for (std::int64_t& rate : rates)
    if (rate == 0) rate = kFreeRate;
  return rates;
}

// Bytes that a port of `rate` carries in `ps`, rounded up.
std::int64_t carried(std::int64_t rate, std::int64_t ps) {
  const __int128 bytes = (static_cast<__int128>(rate) * ps + 999'999'999'999) / 1'000'000'000'000;
  return static_cast<std::int64_t>(std::min<__int128>(bytes, std::int64_t{1} << 60));
}

// One demand of either side: bytes of a rank set, its own ports and those that could help.
struct SideDemand {
  std::int64_t bytes = 0;
  std::vector<std::uint32_t> own;  // ascending
  std::vector<std::uint32_t> helping;
};

using NicsOf = const std::vector<std::int32_t>& (*)(const RankPorts&);
const std::vector<std::int32_t>& nics_in(const RankPorts& ports) { return ports.nic_in; }
const std::vector<std::int32_t>& nics_out(const RankPorts& ports) { return ports.nic_out; }

// Ranks with ports, domain by domain.
std::map<std::int32_t, std::vector<Rank>> ranks_by_domain(const Fabric& fabric) {
  std::map<std::int32_t, std::vector<Rank>> ranks;
  for (std::size_t r = 0; r < fabric.ranks.size(); ++r)
    if (fabric.ranks[r].pack != kNone) ranks[fabric.domain[r]].push_back(static_cast<Rank>(r));
  return ranks;
}

// Finds the ports of rank sets, and afterwards the rank that a port of a set belongs to.
class SidePorts {
 public:
  SidePorts(const Fabric& fabric, const MayHelp& may_help, NicsOf nics)
      : fabric_(fabric), may_help_(may_help), nics_(nics), by_domain_(ranks_by_domain(fabric)) {}

  // InputError if no NIC leads to or from any of them.
  SideDemand demand(std::span<const Rank> set) const {
    SideDemand demand;
    for (Rank rank : set) add(rank, demand.own);
    tidy(demand.own);
    for (Rank rank : helpers(set)) add(rank, demand.helping);
    tidy(demand.helping);
    std::vector<std::uint32_t> others;
    std::set_difference(demand.helping.begin(), demand.helping.end(), demand.own.begin(),
                        demand.own.end(), std::back_inserter(others));
    demand.helping = std::move(others);
    if (demand.own.empty() && demand.helping.empty())
      throw InputError(fmt::format(
          "rank {}: it has no NIC that joins it to the ranks it must exchange with", set.front()));
    return demand;
  }

  // A rank of the set that has the NIC, else a helper that has it.
  Rank owner(std::span<const Rank> set, std::int32_t port) const {
    const auto has = [&](Rank rank) {
      const std::vector<std::int32_t>& nics = nics_(of(rank));
      return std::find(nics.begin(), nics.end(), port) != nics.end();
    };
    if (const auto found = std::find_if(set.begin(), set.end(), has); found != set.end())
      return *found;
    const std::vector<Rank> others = helpers(set);
    return *std::find_if(others.begin(), others.end(), has);
  }

 private:
  const RankPorts& of(Rank rank) const { return fabric_.ranks[static_cast<std::size_t>(rank)]; }

  void add(Rank rank, std::vector<std::uint32_t>& ports) const {
    for (const std::int32_t port : nics_(of(rank)))
      ports.push_back(static_cast<std::uint32_t>(port));
  }

  static void tidy(std::vector<std::uint32_t>& ports) {
    std::sort(ports.begin(), ports.end());
    ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  }

  // Others in the set's domains that NVLink joins to it.
  std::vector<Rank> helpers(std::span<const Rank> set) const {
    std::vector<std::int32_t> domains;
    for (Rank rank : set)
      if (of(rank).nvlink_out != kNone)
        domains.push_back(fabric_.domain[static_cast<std::size_t>(rank)]);
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    std::vector<Rank> found;
    for (const std::int32_t domain : domains)
      for (Rank rank : by_domain_.at(domain))
        if (may_help_[static_cast<std::size_t>(rank)] && of(rank).nvlink_out != kNone)
          found.push_back(rank);
    return found;
  }

  const Fabric& fabric_;
  const MayHelp& may_help_;
  NicsOf nics_;
  std::map<std::int32_t, std::vector<Rank>> by_domain_;
};

std::vector<std::vector<PortShare>> named_shares(
    const std::vector<FlowDemand>& demands, const std::vector<std::vector<std::int64_t>>& bytes,
    const std::vector<std::span<const Rank>>& sets, const SidePorts& ports) {
  std::vector<std::vector<PortShare>> shares(demands.size());
  for (std::size_t i = 0; i < demands.size(); ++i)
    for (std::size_t j = 0; j < demands[i].ports.size(); ++j) {
      if (bytes[i][j] == 0) continue;
      const auto port = static_cast<std::int32_t>(demands[i].ports[j]);
      shares[i].push_back({port, ports.owner(sets[i], port), bytes[i][j]});
    }
  return shares;
}

// Demands that some port of theirs would still serve after `limit_ps`.
std::vector<bool> late(const std::vector<FlowDemand>& demands,
                       const std::vector<std::vector<std::int64_t>>& bytes,
                       const std::vector<std::int64_t>& rates, std::int64_t limit_ps) {
  std::vector<std::int64_t> load(rates.size(), 0);
  for (std::size_t i = 0; i < demands.size(); ++i)
    for (std::size_t j = 0; j < demands[i].ports.size(); ++j)
      load[demands[i].ports[j]] += bytes[i][j];
  std::vector<bool> result(demands.size(), false);
  for (std::size_t i = 0; i < demands.size(); ++i)
    result[i] = demands[i].bytes > 0 && demands[i].ports.empty();
  for (std::size_t i = 0; i < demands.size(); ++i)
    for (const std::uint32_t p : demands[i].ports)
      result[i] = result[i] || load[p] > carried(rates[p], limit_ps);
  return result;
}

std::vector<std::uint32_t> merged(const std::vector<std::uint32_t>& a,
                                  const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

}  // namespace

std::vector<std::vector<PortShare>> landing_shares(const Deliveries& deliveries,
                                                   const Demand& demand, const Fabric& fabric,
                                                   const MayHelp& may_help, std::int64_t goal_ps) {
  const std::vector<std::int64_t> rates = rates_of(fabric);
  const SidePorts ports(fabric, may_help, nics_in);
  std::vector<std::int64_t> bytes(deliveries.sets.size(), 0);
  for (const Delivery& delivery : deliveries.network)
    bytes[delivery.receivers] += demand.classes[delivery.demand_class].bytes;
  std::vector<SideDemand> sides(deliveries.sets.size());
  std::vector<FlowDemand> demands(deliveries.sets.size());
  std::vector<std::span<const Rank>> sets;
  for (std::uint32_t set = 0; set < deliveries.sets.size(); ++set) {
    sets.push_back(deliveries.sets.of(set));
    if (bytes[set] == 0) continue;
    sides[set] = ports.demand(sets[set]);
    demands[set] = {bytes[set], sides[set].own};
    if (sides[set].own.empty()) demands[set].ports = sides[set].helping;
  }
  std::vector<std::vector<std::int64_t>> shares = balanced_flow(demands, rates);
  const std::vector<bool> helped =
      late(demands, shares, rates, goal_ps + goal_ps / kToleranceDivisor);
  if (std::find(helped.begin(), helped.end(), true) == helped.end())
    return named_shares(demands, shares, sets, ports);

  // Only domains that need help are touched: the others stay balanced.
  std::vector<bool> in_need(
      static_cast<std::size_t>(*std::max_element(fabric.domain.begin(), fabric.domain.end())) + 1,
      false);
  const auto domain_of = [&](std::size_t set) {
    return static_cast<std::size_t>(fabric.domain[static_cast<std::size_t>(sets[set].front())]);
  };
  for (std::size_t set = 0; set < demands.size(); ++set)
    if (helped[set]) in_need[domain_of(set)] = true;
  const auto touched = [&](std::size_t set) {
    return demands[set].bytes > 0 && in_need[domain_of(set)];
  };

  // How much the wanters can land themselves by the goal; the rest goes to whoever has room. Where
  // that is not enough for everything, helpers and wanters share evenly.
  std::vector<std::int64_t> capacity;
  for (const std::int64_t rate : rates) capacity.push_back(carried(rate, goal_ps));
  CapacityFlow flow(demands.size(), capacity);
  std::vector<std::vector<std::size_t>> edges(demands.size());
  const auto open = [&](std::size_t set, const std::vector<std::uint32_t>& to) {
    for (const std::uint32_t p : to) edges[set].push_back(flow.add_edge(set, p));
  };
  for (std::size_t set = 0; set < demands.size(); ++set) {
    if (!touched(set)) continue;
    flow.add_supply(set, demands[set].bytes);
    open(set, sides[set].own);
  }
  flow.run();
  for (std::size_t set = 0; set < demands.size(); ++set)
    if (touched(set)) open(set, sides[set].helping);
  flow.run();
  bool all = true;
  for (std::size_t set = 0; set < demands.size(); ++set)
    if (touched(set)) all &= flow.sent(set) == demands[set].bytes;
  for (std::size_t set = 0; set < demands.size(); ++set) {
    if (!touched(set)) continue;
    demands[set].ports = sides[set].own;
    demands[set].ports.insert(demands[set].ports.end(), sides[set].helping.begin(),
                              sides[set].helping.end());
    shares[set].clear();
    for (const std::size_t edge : edges[set]) shares[set].push_back(flow.through(edge));
    if (!all) demands[set].ports = merged(sides[set].own, sides[set].helping);
  }
  if (!all) shares = balanced_flow(demands, rates);
  return named_shares(demands, shares, sets, ports);
}

namespace {

// The source side at work: who must send how much, and how much of it fits.
class SourceSide {
 public:
  SourceSide(const ReshardProblem& problem, const Deliveries& deliveries, const Demand& demand,
             const Fabric& fabric, const MayHelp& may_help, std::int64_t goal_ps,
             std::int64_t relay_use)
      : rates_(rates_of(fabric)),
        ports_(fabric, may_help, nics_out),
        goal_ps_(goal_ps),
        relay_use_(relay_use),
        once_(problem.sets.size(), 0),
        direct_(problem.sets.size(), 0),
        sides_(problem.sets.size()),
        demands_(problem.sets.size()) {
    std::vector<bool> forwards(rates_.size(), false);
    for (std::uint32_t c = 0; c < demand.classes.size(); ++c) {
      const auto copies = static_cast<std::int64_t>(deliveries.copies(c));
      if (copies == 0) continue;
      once_[demand.classes[c].holders] += (relay_use > 0 ? 1 : copies) * demand.classes[c].bytes;
      direct_[demand.classes[c].holders] += copies * demand.classes[c].bytes;
    }
    for (std::uint32_t set = 0; set < direct_.size(); ++set) {
      sets_.push_back(problem.sets.of(set));
      if (direct_[set] == 0) continue;
      sides_[set] = ports_.demand(sets_[set]);
      demands_[set] = {direct_[set], sides_[set].own};
      if (sides_[set].own.empty()) demands_[set].ports = sides_[set].helping;
    }
    for (const Delivery& delivery : deliveries.network)
      for (Rank rank : deliveries.sets.of(delivery.receivers))
        for (const std::int32_t port : fabric.ranks[static_cast<std::size_t>(rank)].nic_out)
          forwards[static_cast<std::size_t>(port)] = true;
    for (std::uint32_t p = 0; p < forwards.size(); ++p)
      if (forwards[p]) forwarding_ports_.push_back(p);
  }

  SourceShares share() {
    SourceShares result{{}, std::vector<std::int64_t>(direct_.size(), 0)};
    std::vector<std::vector<std::int64_t>> shares = balanced_flow(demands_, rates_);
    helped_ = late(demands_, shares, rates_, goal_ps_ + goal_ps_ / kToleranceDivisor);
    if (std::find(helped_.begin(), helped_.end(), true) != helped_.end()) {
      const std::vector<FlowDemand> direct = demands_;
      for (std::int64_t use = relay_use_ > 0 ? relay_use_ : kFullUse; use <= kFullUse;
           use += kUseStep) {
        demands_ = direct;
        result.excess = relieve(carried_share(goal_ps_, use));
        shares = balanced_flow(demands_, rates_);
        if (use == kFullUse ||
            (fits_once_ && can_forward(result.excess, shares, carried_share(goal_ps_, use))))
          break;
      }
    }
    result.of = named_shares(demands_, shares, sets_, ports_);
    return result;
  }

 private:
  static constexpr std::int64_t kUseStep = 25;  // per mille

  static std::int64_t carried_share(std::int64_t ps, std::int64_t per_mille) {
    return static_cast<std::int64_t>(static_cast<__int128>(ps) * per_mille / kFullUse);
  }

  // What must leave once comes first, through the holders' NICs where they have room, else through
  // NICs that NVLink reaches; then further copies. Returns what is left over, and takes it off the
  // demands.
  std::vector<std::int64_t> relieve(std::int64_t limit_ps) {
    const std::size_t count = demands_.size();
    std::vector<std::int64_t> capacity;
    for (const std::int64_t rate : rates_) capacity.push_back(carried(rate, limit_ps));
    CapacityFlow flow(count, capacity);
    std::vector<std::vector<std::size_t>> pooled(count);
    for (std::size_t set = 0; set < count; ++set) {
      if (direct_[set] == 0) continue;
      flow.add_supply(set, once_[set]);
      for (const std::uint32_t p : sides_[set].own) flow.add_edge(set, p);
    }
    const auto open_pools = [&] {
      for (std::size_t set = 0; set < count; ++set)
        if (helped_[set])
          for (const std::uint32_t p : sides_[set].helping)
            pooled[set].push_back(flow.add_edge(set, p));
    };
    const std::int64_t all_once = std::accumulate(once_.begin(), once_.end(), std::int64_t{0});
    const bool own_suffice = flow.run() == all_once;
    if (!own_suffice) open_pools();
    fits_once_ = flow.run() == all_once;
    for (std::size_t set = 0; set < count; ++set)
      if (direct_[set] > 0) flow.add_supply(set, direct_[set] - once_[set]);
    flow.run();
    if (own_suffice) open_pools();
    flow.run();
    std::vector<std::int64_t> excess(count, 0);
    for (std::size_t set = 0; set < count; ++set) {
      if (direct_[set] == 0) continue;
      excess[set] = std::min(direct_[set] - flow.sent(set), direct_[set] - once_[set]);
      demands_[set].bytes = direct_[set] - excess[set];
      const bool uses_pool = std::any_of(pooled[set].begin(), pooled[set].end(),
                                         [&](std::size_t edge) { return flow.through(edge) > 0; });
      if (uses_pool || (!fits_once_ && helped_[set]))
        demands_[set].ports = merged(sides_[set].own, sides_[set].helping);
    }
    return excess;
  }

  // Every byte that the source does not send is forwarded by a port of the destination.
  bool can_forward(const std::vector<std::int64_t>& excess,
                   const std::vector<std::vector<std::int64_t>>& shares,
                   std::int64_t limit_ps) const {
    std::vector<std::int64_t> load(rates_.size(), 0);
    for (std::size_t set = 0; set < shares.size(); ++set)
      for (std::size_t j = 0; j < shares[set].size(); ++j)
        load[demands_[set].ports[j]] += shares[set][j];
    __int128 room = 0;
    for (const std::uint32_t p : forwarding_ports_)
      room += std::max<std::int64_t>(0, carried(rates_[p], limit_ps) - load[p]);
    __int128 wanted = 0;
    for (const std::int64_t bytes : excess) wanted += bytes;
    return wanted <= room;
  }

  const std::vector<std::int64_t> rates_;
  const SidePorts ports_;
  std::int64_t goal_ps_;
  std::int64_t relay_use_;
  std::vector<std::int64_t> once_;    // by holder set: bytes that must leave at least once
  std::vector<std::int64_t> direct_;  // with a copy for every domain
  std::vector<SideDemand> sides_;
  std::vector<FlowDemand> demands_;
  std::vector<std::span<const Rank>> sets_;
  std::vector<bool> helped_;
  bool fits_once_ = true;  // every byte could leave once within the limit tried last
  std::vector<std::uint32_t> forwarding_ports_;  // of ranks that receive over the network
};

}  // namespace

SourceShares source_shares(const ReshardProblem& problem, const Deliveries& deliveries,
                           const Demand& demand, const Fabric& fabric, const MayHelp& may_help,
                           std::int64_t goal_ps, std::int64_t relay_use) {
  return SourceSide(problem, deliveries, demand, fabric, may_help, goal_ps, relay_use).share();
}

}  // namespace transload
