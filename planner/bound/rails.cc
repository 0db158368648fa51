#include "planner/bound/rails.h"

#include <algorithm>
#include <map>

#include "topologies/paths.h"

namespace transload {
namespace {

// The network that a NIC is part of, as a switch or, where links between sites join several, -1.
std::int32_t root_of(const Topology& topology, const Nic& nic) {
  const std::int32_t root = switches_above(topology, nic.leaf).back();
  const bool joined = topology.switches[static_cast<std::size_t>(root)].gateway;
  return joined && !topology.wan_links.empty() ? -1 : root;
}

}  // namespace

RailCapacity::RailCapacity(const Topology& topology, std::span<const Rank> ranks, bool line_rate)
    : topology_(topology),
      line_rate_(line_rate),
      of_domain_(static_cast<std::size_t>(topology.domain_count)) {
  std::map<std::int32_t, std::int32_t> networks;
  std::map<std::int32_t, std::uint32_t> counted;
  for (const Rank rank : ranks) {
    const Gpu& gpu = topology.gpus[static_cast<std::size_t>(rank)];
    for (const std::int32_t index : gpu.nics) {
      const Nic& nic = topology.nics[static_cast<std::size_t>(index)];
      const auto [at, added] = counted.emplace(index, static_cast<std::uint32_t>(counted.size()));
      if (added) {
        const std::int32_t network =
            networks.emplace(root_of(topology, nic), static_cast<std::int32_t>(networks.size()))
                .first->second;
        const std::int64_t rate =
            line_rate ? nic.rate : achieved_rate(nic.rate, nic_costs(topology, nic));
        nics_.push_back({{}, {}, network, index, rate});
        total_.resize(networks.size(), 0);
        total_[static_cast<std::size_t>(network)] += rate;
      }
      CountedNic& of = nics_[at->second];
      of.ranks.push_back(rank);
      if (std::find(of.domains.begin(), of.domains.end(), gpu.domain) != of.domains.end()) continue;
      of.domains.push_back(gpu.domain);
      of_domain_[static_cast<std::size_t>(gpu.domain)].push_back(at->second);
    }
  }
}

std::int64_t RailCapacity::across(const std::vector<bool>& inside) const {
  std::vector<std::int64_t> in(total_.size(), 0);
  std::vector<std::int64_t> out(total_.size(), 0);
  for (const CountedNic& nic : nics_) {
    const auto is_inside = [&](std::int32_t domain) {
      return inside[static_cast<std::size_t>(domain)];
    };
    const auto network = static_cast<std::size_t>(nic.network);
    if (std::any_of(nic.domains.begin(), nic.domains.end(), is_inside)) in[network] += nic.rate;
    if (!std::all_of(nic.domains.begin(), nic.domains.end(), is_inside)) out[network] += nic.rate;
  }
  std::int64_t sum = 0;
  for (std::size_t n = 0; n < in.size(); ++n) sum += std::min(in[n], out[n]);
  return sum;
}

std::int64_t RailCapacity::across(std::int32_t domain) const {
  std::vector<std::int64_t> in(total_.size(), 0);
  std::vector<std::int64_t> out = total_;
  for (const std::uint32_t i : of_domain_[static_cast<std::size_t>(domain)]) {
    const CountedNic& nic = nics_[i];
    in[static_cast<std::size_t>(nic.network)] += nic.rate;
    if (nic.domains.size() == 1) out[static_cast<std::size_t>(nic.network)] -= nic.rate;
  }
  std::int64_t sum = 0;
  for (std::size_t n = 0; n < in.size(); ++n) sum += std::min(in[n], out[n]);
  return sum;
}

std::int64_t RailCapacity::across(const Pod& pod) const {
  if (pod.switches.empty()) return line_rate_ ? pod.line_rate : pod.achieved_rate;
  std::map<std::int32_t, std::pair<std::int32_t, std::int64_t>> below;  // by switch: network, rate
  std::vector<std::int64_t> out(total_.size(), 0);
  for (const CountedNic& nic : nics_) {
    const auto network = static_cast<std::size_t>(nic.network);
    if (!std::all_of(nic.ranks.begin(), nic.ranks.end(),
                     [&](Rank rank) { return pod.has[static_cast<std::size_t>(rank)]; }))
      out[network] += nic.rate;
    for (const std::int32_t at :
         switches_above(topology_, topology_.nics[static_cast<std::size_t>(nic.nic)].leaf))
      if (std::binary_search(pod.switches.begin(), pod.switches.end(), at)) {
        below[at].first = nic.network;
        below[at].second += nic.rate;
      }
  }
  std::vector<std::int64_t> in(total_.size(), 0);
  for (const auto& [at, nics] : below) {
    const Switch& member = topology_.switches[static_cast<std::size_t>(at)];
    const std::int64_t uplink =
        line_rate_ ? member.uplink_rate
                   : achieved_rate(member.uplink_rate, member.uplink_efficiency_ppm);
    in[static_cast<std::size_t>(nics.first)] += std::min(uplink, nics.second);
  }
  std::int64_t sum = 0;
  for (std::size_t n = 0; n < in.size(); ++n) sum += std::min(in[n], out[n]);
  return sum;
}

}  // namespace transload
