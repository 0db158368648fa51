#include "planner/bound/needs.h"

#include <algorithm>

namespace transload {
namespace {

// The NVLink domains of every rank set, each worked out once: many classes share few sets.
class SetDomains {
 public:
  SetDomains(const ReshardProblem& problem, const Topology& topology)
      : problem_(problem), topology_(topology), domains_(problem.sets.size()) {}

  const std::vector<std::uint32_t>& of(std::uint32_t set) {
    std::vector<std::uint32_t>& domains = domains_[set];
    if (domains.empty() && !problem_.sets.of(set).empty())
      domains = of_ranks(problem_.sets.of(set));
    return domains;
  }

  std::vector<std::uint32_t> of_ranks(std::span<const Rank> ranks) const {
    std::vector<std::uint32_t> domains;
    for (Rank rank : ranks)
      domains.push_back(
          static_cast<std::uint32_t>(topology_.gpus[static_cast<std::size_t>(rank)].domain));
    std::sort(domains.begin(), domains.end());
    domains.erase(std::unique(domains.begin(), domains.end()), domains.end());
    return domains;
  }

 private:
  const ReshardProblem& problem_;
  const Topology& topology_;
  std::vector<std::vector<std::uint32_t>> domains_;
};

}  // namespace

Needs needs_of(const ReshardProblem& problem, const Demand& demand, const Topology& topology) {
  const std::size_t ranks = topology.gpus.size();
  const auto domains = static_cast<std::size_t>(topology.domain_count);
  Needs needs;
  needs.gpu.assign(ranks, 0);
  needs.gpu_local.assign(ranks, 0);
  needs.gpu_out.assign(ranks, 0);
  needs.distinct.assign(domains, 0);
  needs.domain_out.assign(domains, 0);
  SetDomains domains_of(problem, topology);
  std::vector<bool> source_domain(domains, false);
  for (std::uint32_t domain : domains_of.of_ranks(problem.source_ranks))
    source_domain[domain] = true;
  for (const DemandClass& item : demand.classes) {
    const std::span<const Rank> holders = problem.sets.of(item.holders);
    bool sent = false;  // some rank wants it and does not hold it
    for (Rank rank : problem.sets.of(item.receivers)) {
      const bool holds = std::binary_search(holders.begin(), holders.end(), rank);
      (holds ? needs.gpu_local : needs.gpu)[static_cast<std::size_t>(rank)] += item.bytes;
      sent |= !holds;
    }
    if (sent && holders.size() == 1)
      needs.gpu_out[static_cast<std::size_t>(holders[0])] += item.bytes;
    const std::vector<std::uint32_t>& at = domains_of.of(item.holders);
    std::int64_t copies = 0;
    bool leaves = false;  // some receiver sits in a domain that holds nothing at all of the source
    for (std::uint32_t domain : domains_of.of(item.receivers)) {
      if (std::binary_search(at.begin(), at.end(), domain)) continue;
      needs.distinct[domain] += item.bytes;
      ++copies;
      leaves |= !source_domain[domain];
    }
    if (leaves) needs.exclusive[at] += item.bytes;
    if (copies > 0) needs.copies[at] += copies * item.bytes;
    if (copies > 0 && at.size() == 1) needs.domain_out[at[0]] += item.bytes;
  }
  return needs;
}

}  // namespace transload
