#include "planner/bound/pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "topologies/paths.h"

namespace transload {
namespace {

// The switch of `tier` above a NIC, -1 if its way up passes none.
std::int32_t ancestor(const Topology& topology, const Nic& nic, std::int32_t tier) {
  for (std::int32_t at : switches_above(topology, nic.leaf))
    if (topology.switches[static_cast<std::size_t>(at)].tier == tier) return at;
  return -1;
}

// Groups of switches of one tier that share NVLink domains, by their least member; -1: not of the
// tier.
std::vector<std::int32_t> joined_by_domains(const Topology& topology, std::int32_t tier) {
  std::vector<std::int32_t> group(topology.switches.size(), -1);
  for (std::size_t i = 0; i < group.size(); ++i)
    if (topology.switches[i].tier == tier) group[i] = static_cast<std::int32_t>(i);
  const auto find = [&](std::int32_t at) {
    while (group[static_cast<std::size_t>(at)] != at) at = group[static_cast<std::size_t>(at)];
    return at;
  };
  std::vector<std::int32_t> of_domain(static_cast<std::size_t>(topology.domain_count), -1);
  for (const Gpu& gpu : topology.gpus)
    for (std::int32_t nic : gpu.nics) {
      const std::int32_t at =
          ancestor(topology, topology.nics[static_cast<std::size_t>(nic)], tier);
      if (at < 0) continue;
      std::int32_t& known = of_domain[static_cast<std::size_t>(gpu.domain)];
      if (known < 0) known = at;
      const std::int32_t a = find(known);
      const std::int32_t b = find(at);
      group[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
  for (std::size_t i = 0; i < group.size(); ++i)
    if (group[i] >= 0) group[i] = find(static_cast<std::int32_t>(i));
  return group;
}

// Whether all NICs of a domain are below switches of the tier.
std::vector<bool> domains_below(const Topology& topology, std::int32_t tier) {
  std::vector<bool> below(static_cast<std::size_t>(topology.domain_count), true);
  for (const Gpu& gpu : topology.gpus)
    for (std::int32_t nic : gpu.nics)
      if (ancestor(topology, topology.nics[static_cast<std::size_t>(nic)], tier) < 0)
        below[static_cast<std::size_t>(gpu.domain)] = false;
  return below;
}

void add_pods_of_tier(const Topology& topology, std::int32_t tier, std::vector<Pod>& pods) {
  const std::vector<std::int32_t> group = joined_by_domains(topology, tier);
  const std::vector<bool> below = domains_below(topology, tier);
  struct Members {
    std::vector<std::int32_t> switches;
    bool narrow = true;
  };
  std::map<std::int32_t, Members> members;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i] < 0) continue;
    Members& of = members[group[i]];
    of.switches.push_back(static_cast<std::int32_t>(i));
    of.narrow &= topology.switches[i].uplink_rate > 0;
  }
  std::map<std::int32_t, std::size_t> pod_of_group;
  for (const auto& [least, of] : members) {
    if (!of.narrow) continue;
    Pod pod;
    const auto name = [&](std::int32_t at) {
      return topology.switches[static_cast<std::size_t>(at)].name;
    };
    pod.name = name(of.switches.front());
    if (of.switches.size() > 1) pod.name += " to " + name(of.switches.back());
    pod.has.assign(topology.gpus.size(), false);
    for (std::int32_t at : of.switches) {
      const Switch& member = topology.switches[static_cast<std::size_t>(at)];
      pod.line_rate += member.uplink_rate;
      pod.achieved_rate += achieved_rate(member.uplink_rate, member.uplink_efficiency_ppm);
    }
    pod.switches = of.switches;
    pod_of_group.emplace(least, pods.size());
    pods.push_back(std::move(pod));
  }
  for (std::size_t rank = 0; rank < topology.gpus.size(); ++rank) {
    const Gpu& gpu = topology.gpus[rank];
    if (!below[static_cast<std::size_t>(gpu.domain)] || gpu.nics.empty()) continue;
    const std::int32_t at =
        ancestor(topology, topology.nics[static_cast<std::size_t>(gpu.nics.front())], tier);
    const auto found = pod_of_group.find(group[static_cast<std::size_t>(at)]);
    if (found != pod_of_group.end()) pods[found->second].has[rank] = true;
  }
}

void add_sites(const Topology& topology, std::vector<Pod>& pods) {
  if (topology.wan_links.empty()) return;
  for (std::size_t site = 0; site < topology.sites.size(); ++site) {
    Pod pod;
    pod.name = "site " + topology.sites[site].name;
    for (const WanLink& link : topology.wan_links)
      if (static_cast<std::size_t>(link.site_a) == site ||
          static_cast<std::size_t>(link.site_b) == site)
        pod.line_rate += link.rate;
    pod.achieved_rate = pod.line_rate;
    if (pod.line_rate == 0) continue;
    for (const Gpu& gpu : topology.gpus)
      pod.has.push_back(static_cast<std::size_t>(
                            topology.nodes[static_cast<std::size_t>(gpu.node)].site) == site);
    pods.push_back(std::move(pod));
  }
}

}  // namespace

std::vector<Pod> pods_of(const Topology& topology) {
  std::vector<Pod> pods;
  std::int32_t top = 0;
  bool narrow = false;
  for (const Switch& at : topology.switches) {
    top = std::max(top, at.tier);
    narrow |= at.uplink_rate > 0;
  }
  for (std::int32_t tier = 1; narrow && tier < top; ++tier) add_pods_of_tier(topology, tier, pods);
  add_sites(topology, pods);
  return pods;
}

PodNeeds needs_of_pod(const ReshardProblem& problem, const Demand& demand, const Pod& pod) {
  PodNeeds needs;
  const auto inside = [&](Rank rank) { return pod.has[static_cast<std::size_t>(rank)]; };
  for (const DemandClass& item : demand.classes) {
    const std::span<const Rank> holders = problem.sets.of(item.holders);
    const std::span<const Rank> receivers = problem.sets.of(item.receivers);
    const auto held = std::count_if(holders.begin(), holders.end(), inside);
    const auto wanted = std::count_if(receivers.begin(), receivers.end(), inside);
    if (held == 0 && wanted > 0) needs.in += item.bytes;
    if (held == static_cast<std::ptrdiff_t>(holders.size()) &&
        wanted < static_cast<std::ptrdiff_t>(receivers.size()))
      needs.out += item.bytes;
  }
  return needs;
}

}  // namespace transload
