#include "planner/bound/bound.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "common/units.h"
#include "planner/bound/domain_parts.h"
#include "planner/bound/min_max_flow.h"
#include "planner/bound/needs.h"
#include "planner/bound/pods.h"
#include "planner/bound/rails.h"

namespace transload {
namespace {

// Per rank and per domain: capacities of the job's ports, bytes/s.
struct Capacities {
  std::vector<std::int64_t> nic;         // by rank, one direction
  std::vector<std::int64_t> nvlink;      // by rank
  std::vector<std::int64_t> each_nic;    // by NIC of the topology
  std::vector<std::int64_t> hbm;         // by rank; 0: copies cost no time
  std::vector<std::int64_t> domain_nic;  // by domain: the job's ranks together
  std::vector<std::int64_t> domain_nvlink;
  std::vector<std::int32_t> domain_ranks;
};

std::vector<Rank> ranks_that_count(const ReshardProblem& problem, std::span<const Rank> helpers) {
  std::vector<Rank> ranks = problem.source_ranks;
  ranks.insert(ranks.end(), problem.destination_ranks.begin(), problem.destination_ranks.end());
  ranks.insert(ranks.end(), helpers.begin(), helpers.end());
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Capacities capacities(const std::vector<Rank>& job_ranks, const Topology& topology,
                      bool line_rate) {
  const std::size_t ranks = topology.gpus.size();
  const std::vector<std::int64_t> none(ranks, 0);
  Capacities result{none, none, {}, none, {}, {}, {}};
  result.each_nic.assign(topology.nics.size(), 0);
  const auto domains = static_cast<std::size_t>(topology.domain_count);
  result.domain_nic.assign(domains, 0);
  result.domain_nvlink.assign(domains, 0);
  result.domain_ranks.assign(domains, 0);
  const auto rate = [&](std::int64_t line, const LinkCosts& costs) {
    return line_rate ? line : achieved_rate(line, costs);
  };
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
      result.each_nic[static_cast<std::size_t>(nic)] = nic_rate;
      if (!counted[static_cast<std::size_t>(nic)]) result.domain_nic[domain] += nic_rate;
      counted[static_cast<std::size_t>(nic)] = true;
    }
    result.nvlink[r] = rate(gpu.nvlink_rate, nvlink_costs(topology, gpu));
    const GpuModel& model = topology.gpu_models[static_cast<std::size_t>(gpu.model)];
    result.hbm[r] = rate(model.hbm_rate, model.copy);
    result.domain_nvlink[domain] += result.nvlink[r];
    ++result.domain_ranks[domain];
  }
  return result;
}

struct PodBytes {
  Pod pod;
  PodNeeds needs;
};

class BoundMaker {
 public:
  BoundMaker(const ReshardProblem& problem, const Topology& topology, const Needs& needs,
             const std::vector<PodBytes>& pods, const DomainParts& parts,
             const std::vector<Rank>& ranks, bool line_rate)
      : problem_(problem),
        topology_(topology),
        needs_(needs),
        pods_(pods),
        parts_(parts),
        line_rate_(line_rate),
        capacity_(capacities(ranks, topology, line_rate)),
        rails_(topology, ranks, line_rate) {}

  std::vector<Bound> make() const {
    return {destination_gpu(), domain_in(),     pod_in(), source_once(), pod_out(), rail_in(),
            volume(),          source_copies(), nvlink(), domain_part(), hbm()};
  }

 private:
  static void raise(Bound& bound, std::int64_t bytes, std::int64_t rate, const std::string& port) {
    if (bytes == 0) return;
    const std::int64_t ps = duration_ps(bytes, rate);
    if (ps > bound.ps) {
      bound.ps = ps;
      bound.port = port;
      bound.bytes = bytes;
      bound.rate = rate;
    }
  }

  // NVLink leads nowhere for the only rank of a domain.
  std::int64_t usable_nvlink(Rank rank) const {
    const auto r = static_cast<std::size_t>(rank);
    const bool alone =
        capacity_.domain_ranks[static_cast<std::size_t>(topology_.gpus[r].domain)] < 2;
    return alone ? 0 : capacity_.nvlink[r];
  }

  Bound destination_gpu() const {
    Bound bound{"dst_gpu", "none", 0, false, 0, 0};
    for (Rank rank : problem_.destination_ranks) {
      const auto r = static_cast<std::size_t>(rank);
      raise(bound, needs_.gpu[r], capacity_.nic[r] + usable_nvlink(rank),
            fmt::format("NIC and NVLink into rank {}", rank));
    }
    return bound;
  }

  Bound domain_in() const {
    Bound bound{"domain_in", "none", 0, false, 0, 0};
    for (std::size_t domain = 0; domain < needs_.distinct.size(); ++domain)
      raise(bound, needs_.distinct[domain], capacity_.domain_nic[domain],
            fmt::format("NICs into NVLink domain {}", domain));
    return bound;
  }

  std::int64_t rate_of(const Pod& pod) const {
    return line_rate_ ? pod.line_rate : pod.achieved_rate;
  }

  Bound pod_in() const {
    Bound bound{"pod_in", "none", 0, false, 0, 0};
    for (const PodBytes& pod : pods_)
      raise(bound, pod.needs.in, rate_of(pod.pod), "links into " + pod.pod.name);
    return bound;
  }

  // Into each domain and pod, out of each domain, and from all sources to everybody else.
  Bound rail_in() const {
    Bound bound{"rail_in", "none", 0, false};
    for (std::size_t domain = 0; domain < needs_.distinct.size(); ++domain) {
      const std::int64_t rate = rails_.across(static_cast<std::int32_t>(domain));
      raise(bound, needs_.distinct[domain], rate,
            fmt::format("rails into NVLink domain {}", domain));
      raise(bound, needs_.domain_out[domain], rate,
            fmt::format("rails out of NVLink domain {}", domain));
    }
    for (const PodBytes& pod : pods_)
      raise(bound, std::max(pod.needs.in, pod.needs.out), rails_.across(pod.pod),
            "rails of " + pod.pod.name);
    std::vector<bool> holds(needs_.distinct.size(), false);
    for (const Rank rank : problem_.source_ranks)
      holds[static_cast<std::size_t>(topology_.gpus[static_cast<std::size_t>(rank)].domain)] = true;
    std::int64_t leaving = 0;
    for (const auto& [domains, bytes] : needs_.exclusive) leaving += bytes;
    raise(bound, leaving, rails_.across(holds), "rails out of all domains of sources");
    return bound;
  }

  Bound pod_out() const {
    Bound bound{"pod_out", "none", 0, false, 0, 0};
    for (const PodBytes& pod : pods_)
      raise(bound, pod.needs.out, rate_of(pod.pod), "links out of " + pod.pod.name);
    return bound;
  }

  Bound source_once() const {
    Bound bound{"src_once", "none", 0, false, 0, 0};
    for (Rank rank : problem_.source_ranks) {
      const auto r = static_cast<std::size_t>(rank);
      raise(bound, needs_.gpu_out[r], capacity_.nic[r] + usable_nvlink(rank),
            fmt::format("NIC and NVLink out of rank {}", rank));
    }
    for (std::size_t domain = 0; domain < needs_.domain_out.size(); ++domain)
      raise(bound, needs_.domain_out[domain], capacity_.domain_nic[domain],
            fmt::format("NICs out of NVLink domain {}", domain));
    raise_by_cut(bound, needs_.exclusive);
    return bound;
  }

  Bound source_copies() const {
    Bound bound{"src_copies", "none", 0, true, 0, 0};
    raise_by_cut(bound, needs_.copies);
    return bound;
  }

  // The worst set of source domains: bytes held only there over the NICs there.
  void raise_by_cut(Bound& bound,
                    const std::map<std::vector<std::uint32_t>, std::int64_t>& by_domains) const {
    std::vector<FlowDemand> demands;
    for (const auto& [domains, bytes] : by_domains) demands.push_back({bytes, domains});
    const MinMaxCut cut = min_max_cut(demands, capacity_.domain_nic);
    if (cut.ports.empty()) return;
    raise(bound, cut.bytes, cut.rate,
          cut.ports.size() == 1
              ? fmt::format("NICs out of NVLink domain {}", cut.ports[0])
              : fmt::format("NICs out of {} NVLink domains ({} to {})", cut.ports.size(),
                            cut.ports.front(), cut.ports.back()));
  }

  Bound volume() const {
    Bound bound{"volume", "none", 0, false, 0, 0};
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
    Bound bound{"nvlink", "none", 0, false, 0, 0};
    std::vector<std::int64_t> need(needs_.distinct.size(), 0);
    for (Rank rank : problem_.destination_ranks)
      need[static_cast<std::size_t>(topology_.gpus[static_cast<std::size_t>(rank)].domain)] +=
          needs_.gpu[static_cast<std::size_t>(rank)];
    for (std::size_t domain = 0; domain < need.size(); ++domain)
      raise(bound, need[domain], capacity_.domain_nic[domain] + capacity_.domain_nvlink[domain],
            fmt::format("NICs and NVLink ports of domain {}", domain));
    return bound;
  }

  Bound domain_part() const {
    Bound bound{"domain_part", "none", 0, false, 0, 0};
    const PartRates rates{capacity_.nvlink, capacity_.each_nic};
    const auto raise_to = [&](const PartCut& cut, std::string_view way) {
      if (cut.ranks.empty()) return;
      raise(bound, cut.bytes, cut.rate,
            fmt::format("NICs and NVLink {} ranks {}", way, fmt::join(cut.ranks, ", ")));
    };
    raise_to(parts_.in(rates), "into");
    raise_to(parts_.out(rates), "out of");
    return bound;
  }

  // Landed bytes are written; bytes that stay are read and written. Packing and unpacking, which a
  // schedule may avoid, do not count.
  Bound hbm() const {
    Bound bound{"hbm", "none", 0, false, 0, 0};
    for (Rank rank : problem_.destination_ranks) {
      const auto r = static_cast<std::size_t>(rank);
      if (capacity_.hbm[r] > 0)
        raise(bound, needs_.gpu[r] + 2 * needs_.gpu_local[r], capacity_.hbm[r],
              fmt::format("memory of rank {}", rank));
    }
    return bound;
  }

  const ReshardProblem& problem_;
  const Topology& topology_;
  const Needs& needs_;
  const std::vector<PodBytes>& pods_;
  const DomainParts& parts_;
  bool line_rate_;
  Capacities capacity_;
  RailCapacity rails_;
};

const Bound& largest(const std::vector<Bound>& bounds) {
  return *std::max_element(bounds.begin(), bounds.end(), [](const Bound& a, const Bound& b) {
    return (a.conditional ? -1 : a.ps) < (b.conditional ? -1 : b.ps);
  });
}

}  // namespace

BoundReport compute_bounds(const ReshardProblem& problem, const Demand& demand,
                           const Topology& topology, std::span<const Rank> helpers) {
  const Needs needs = needs_of(problem, demand, topology);
  const std::vector<Rank> ranks = ranks_that_count(problem, helpers);
  std::vector<PodBytes> pods;
  for (Pod& pod : pods_of(topology)) {
    const PodNeeds bytes = needs_of_pod(problem, demand, pod);
    pods.push_back({std::move(pod), bytes});
  }
  const DomainParts parts(problem, demand, topology, ranks);
  BoundReport report;
  report.bounds = BoundMaker(problem, topology, needs, pods, parts, ranks, false).make();
  report.binding = largest(report.bounds).name;
  report.bound_ps = largest(report.bounds).ps;
  report.bound_line_rate_ps =
      largest(BoundMaker(problem, topology, needs, pods, parts, ranks, true).make()).ps;
  return report;
}

}  // namespace transload
