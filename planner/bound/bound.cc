#include "planner/bound/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/units.h"
#include "planner/bound/min_max_flow.h"

namespace transload {
namespace {

// Per rank and per domain: capacities of the job's ports, bytes/s.
struct Capacities {
  std::vector<std::int64_t> nic;         // by rank, one direction
  std::vector<std::int64_t> nvlink;      // by rank
  std::vector<std::int64_t> domain_nic;  // by domain: the job's ranks together
  std::vector<std::int64_t> domain_nvlink;
  std::vector<std::int32_t> domain_ranks;
};

Capacities capacities(const ReshardProblem& problem, const Topology& topology, bool line_rate) {
  const std::size_t ranks = topology.gpus.size();
  Capacities result{
      std::vector<std::int64_t>(ranks, 0), std::vector<std::int64_t>(ranks, 0), {}, {}, {}};
  const auto domains = static_cast<std::size_t>(topology.domain_count);
  result.domain_nic.assign(domains, 0);
  result.domain_nvlink.assign(domains, 0);
  result.domain_ranks.assign(domains, 0);
  const auto rate = [&](std::int64_t line, const LinkCosts& costs) {
    return line_rate ? line : achieved_rate(line, costs);
  };
  std::vector<Rank> job_ranks = problem.source_ranks;
  job_ranks.insert(job_ranks.end(), problem.destination_ranks.begin(),
                   problem.destination_ranks.end());
  std::sort(job_ranks.begin(), job_ranks.end());
  job_ranks.erase(std::unique(job_ranks.begin(), job_ranks.end()), job_ranks.end());
  std::vector<bool> counted(topology.nics.size(), false);
  for (Rank rank : job_ranks) {
    const auto r = static_cast<std::size_t>(rank);
    const Gpu& gpu = topology.gpus[r];
    const auto domain = static_cast<std::size_t>(gpu.domain);
    for (std::int32_t nic : gpu.nics) {
      const std::int64_t nic_rate =
          rate(topology.nics[static_cast<std::size_t>(nic)].rate,
               nic_costs(topology, topology.nics[static_cast<std::size_t>(nic)]));
      result.nic[r] += nic_rate;
      if (!counted[static_cast<std::size_t>(nic)]) result.domain_nic[domain] += nic_rate;
      counted[static_cast<std::size_t>(nic)] = true;
    }
    result.nvlink[r] = rate(gpu.nvlink_rate, nvlink_costs(topology, gpu));
    result.domain_nvlink[domain] += result.nvlink[r];
    ++result.domain_ranks[domain];
  }
  return result;
}

// What must move, independent of rates.
struct Needs {
  std::vector<std::int64_t> gpu;       // bytes a rank wants and does not hold
  std::vector<std::int64_t> distinct;  // bytes that must enter a domain at least once
  std::map<std::vector<std::uint32_t>, std::int64_t>
      exclusive;  // holder domains -> bytes that must leave
};

std::vector<std::uint32_t> domains_of(std::span<const Rank> ranks, const Topology& topology) {
  std::vector<std::uint32_t> domains;
  for (Rank rank : ranks)
    domains.push_back(
        static_cast<std::uint32_t>(topology.gpus[static_cast<std::size_t>(rank)].domain));
  std::sort(domains.begin(), domains.end());
  domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
  return domains;
}

Needs needs_of(const ReshardProblem& problem, const Demand& demand, const Topology& topology) {
  Needs needs;
  needs.gpu.assign(topology.gpus.size(), 0);
  needs.distinct.assign(static_cast<std::size_t>(topology.domain_count), 0);
  std::vector<bool> source_domain(static_cast<std::size_t>(topology.domain_count), false);
  for (std::uint32_t domain : domains_of(problem.source_ranks, topology))
    source_domain[domain] = true;
  for (const DemandClass& item : demand.classes) {
    const std::span<const Rank> holders = problem.sets.of(item.holders);
    const std::span<const Rank> receivers = problem.sets.of(item.receivers);
    for (Rank rank : receivers)
      if (!std::binary_search(holders.begin(), holders.end(), rank))
        needs.gpu[static_cast<std::size_t>(rank)] += item.bytes;
    const std::vector<std::uint32_t> holder_domains = domains_of(holders, topology);
    bool leaves = false;  // some receiver sits in a domain that holds nothing at all of the source
    for (std::uint32_t domain : domains_of(receivers, topology)) {
      if (std::binary_search(holder_domains.begin(), holder_domains.end(), domain)) continue;
      needs.distinct[domain] += item.bytes;
      leaves |= !source_domain[domain];
    }
    if (leaves) needs.exclusive[holder_domains] += item.bytes;
  }
  return needs;
}

class BoundMaker {
 public:
  BoundMaker(const ReshardProblem& problem, const Topology& topology, const Needs& needs,
             bool line_rate)
      : problem_(problem),
        topology_(topology),
        needs_(needs),
        capacity_(capacities(problem, topology, line_rate)) {}

  std::vector<Bound> make() const {
    return {destination_gpu(), domain_in(), source_once(), volume(), nvlink()};
  }

 private:
  static void raise(Bound& bound, std::int64_t bytes, std::int64_t rate, const std::string& port) {
    if (bytes == 0) return;
    const std::int64_t ps = duration_ps(bytes, rate);
    if (ps > bound.ps) {
      bound.ps = ps;
      bound.port = port;
    }
  }

  Bound destination_gpu() const {
    Bound bound{"dst_gpu", "none", 0, false};
    for (Rank rank : problem_.destination_ranks) {
      const auto r = static_cast<std::size_t>(rank);
      const bool alone =
          capacity_.domain_ranks[static_cast<std::size_t>(topology_.gpus[r].domain)] < 2;
      raise(bound, needs_.gpu[r], capacity_.nic[r] + (alone ? 0 : capacity_.nvlink[r]),
            fmt::format("NIC and NVLink into rank {}", rank));
    }
    return bound;
  }

  Bound domain_in() const {
    Bound bound{"domain_in", "none", 0, false};
    for (std::size_t domain = 0; domain < needs_.distinct.size(); ++domain)
      raise(bound, needs_.distinct[domain], capacity_.domain_nic[domain],
            fmt::format("NICs into NVLink domain {}", domain));
    return bound;
  }

  Bound source_once() const {
    Bound bound{"src_once", "none", 0, false};
    std::vector<FlowDemand> demands;
    for (const auto& [domains, bytes] : needs_.exclusive) demands.push_back({bytes, domains});
    const MinMaxCut cut = min_max_cut(demands, capacity_.domain_nic);
    if (cut.ports.empty()) return bound;
    raise(bound, cut.bytes, cut.rate,
          cut.ports.size() == 1
              ? fmt::format("NICs out of NVLink domain {}", cut.ports[0])
              : fmt::format("NICs out of {} NVLink domains ({} to {})", cut.ports.size(),
                            cut.ports.front(), cut.ports.back()));
    return bound;
  }

  Bound volume() const {
    Bound bound{"volume", "none", 0, false};
    std::int64_t bytes = 0;
    std::int64_t rate = 0;
    for (std::size_t domain = 0; domain < needs_.distinct.size(); ++domain) {
      bytes += needs_.distinct[domain];
      rate += capacity_.domain_nic[domain];
    }
    raise(bound, bytes, rate, "all NICs of the job, outgoing");
    return bound;
  }

  Bound nvlink() const {
    Bound bound{"nvlink", "none", 0, false};
    std::vector<std::int64_t> need(needs_.distinct.size(), 0);
    for (Rank rank : problem_.destination_ranks)
      need[static_cast<std::size_t>(topology_.gpus[static_cast<std::size_t>(rank)].domain)] +=
          needs_.gpu[static_cast<std::size_t>(rank)];
    for (std::size_t domain = 0; domain < need.size(); ++domain)
      raise(bound, need[domain], capacity_.domain_nic[domain] + capacity_.domain_nvlink[domain],
            fmt::format("NICs and NVLink ports of domain {}", domain));
    return bound;
  }

  const ReshardProblem& problem_;
  const Topology& topology_;
  const Needs& needs_;
  Capacities capacity_;
};

const Bound& largest(const std::vector<Bound>& bounds) {
  return *std::max_element(bounds.begin(), bounds.end(),
                           [](const Bound& a, const Bound& b) { return a.ps < b.ps; });
}

}  // namespace

BoundReport compute_bounds(const ReshardProblem& problem, const Demand& demand,
                           const Topology& topology) {
  const Needs needs = needs_of(problem, demand, topology);
  BoundReport report;
  report.bounds = BoundMaker(problem, topology, needs, false).make();
  report.binding = largest(report.bounds).name;
  report.bound_ps = largest(report.bounds).ps;
  report.bound_line_rate_ps = largest(BoundMaker(problem, topology, needs, true).make()).ps;
  return report;
}

}  // namespace transload
