#include "planner/bound/domain_parts.h"

#include <algorithm>

namespace transload {
namespace {

constexpr std::size_t kMostRanks = 128;  // of a domain: bits of `Members`
constexpr std::size_t kFewRanks = 8;     // of a domain whose parts are all tried
constexpr std::size_t kMostParts = 512;  // tried of a larger one

}  // namespace

DomainParts::DomainParts(const ReshardProblem& problem, const Demand& demand,
                         const Topology& topology, std::span<const Rank> ranks)
    : topology_(topology), domains_(static_cast<std::size_t>(topology.domain_count)) {
  const auto domain_of = [&](Rank rank) {
    return static_cast<std::size_t>(topology.gpus[static_cast<std::size_t>(rank)].domain);
  };
  std::vector<Members> member(topology.gpus.size(), 0);
  for (const Rank rank : ranks) {
    Domain& domain = domains_[domain_of(rank)];
    if (domain.ranks.size() < kMostRanks)
      member[static_cast<std::size_t>(rank)] = Members{1} << domain.ranks.size();
    domain.ranks.push_back(rank);
  }
  // By set and domain, as thousands of classes share few sets.
  using ByDomain = std::vector<std::pair<std::size_t, Members>>;
  std::vector<ByDomain> sets(problem.sets.size());
  for (std::uint32_t set = 0; set < sets.size(); ++set) {
    std::map<std::size_t, Members> by_domain;
    for (const Rank rank : problem.sets.of(set))
      by_domain[domain_of(rank)] |= member[static_cast<std::size_t>(rank)];
    sets[set].assign(by_domain.begin(), by_domain.end());
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> by_sets;
  for (const DemandClass& item : demand.classes)
    by_sets[{item.holders, item.receivers}] += item.bytes;
  std::vector<std::map<Traffic, std::int64_t>> bytes(domains_.size());
  for (const auto& [pair, amount] : by_sets) {
    const ByDomain& held = sets[pair.first];
    const ByDomain& wanted = sets[pair.second];
    auto h = held.begin();
    auto w = wanted.begin();
    while (h != held.end() || w != wanted.end()) {
      const std::size_t number =
          w == wanted.end() || (h != held.end() && h->first < w->first) ? h->first : w->first;
      Traffic traffic;
      if (h != held.end() && h->first == number) traffic.holders = (h++)->second;
      if (w != wanted.end() && w->first == number) traffic.receivers = (w++)->second;
      traffic.held_elsewhere = held.size() > (traffic.holders != 0 ? 1u : 0u);
      traffic.wanted_elsewhere = wanted.size() > (traffic.receivers != 0 ? 1u : 0u);
      bytes[number][traffic] += amount;
    }
  }
  for (std::size_t d = 0; d < domains_.size(); ++d) {
    domains_[d].bytes.assign(bytes[d].begin(), bytes[d].end());
    if (domains_[d].ranks.size() <= kMostRanks) find_parts(domains_[d]);
  }
}

void DomainParts::find_parts(Domain& domain) const {
  const std::size_t count = domain.ranks.size();
  const bool held = std::any_of(domain.bytes.begin(), domain.bytes.end(),
                                [](const auto& item) { return item.first.holders != 0; });
  if (count < 2 || !held) return;
  const Members all = count == kMostRanks ? ~Members{0} : (Members{1} << count) - 1;
  if (count <= kFewRanks) {
    for (Members part = 1; part < all; ++part) domain.parts.push_back(part);
    return;
  }
  Members holders = 0;
  const auto add = [&](Members part) {
    if (part != 0 && part != all && domain.parts.size() < kMostParts) domain.parts.push_back(part);
  };
  for (const auto& [traffic, bytes] : domain.bytes) holders |= traffic.holders;
  add(holders);
  add(all & ~holders);
  for (const auto& [traffic, bytes] : domain.bytes)
    for (const Members part : {traffic.holders, traffic.receivers}) {
      add(part);
      add(all & ~part);
    }
  std::sort(domain.parts.begin(), domain.parts.end());
  domain.parts.erase(std::unique(domain.parts.begin(), domain.parts.end()), domain.parts.end());
}

std::vector<Rank> DomainParts::ranks_of(const Domain& domain, Members part) const {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < domain.ranks.size(); ++i)
    if ((part >> i & 1) != 0) ranks.push_back(domain.ranks[i]);
  return ranks;
}

std::int64_t DomainParts::nic_rate(const Domain& domain, Members part,
                                   const PartRates& rates) const {
  std::vector<std::int32_t> nics;  // ranks may share them
  for (const Rank rank : ranks_of(domain, part)) {
    const std::vector<std::int32_t>& own = topology_.gpus[static_cast<std::size_t>(rank)].nics;
    nics.insert(nics.end(), own.begin(), own.end());
  }
  std::sort(nics.begin(), nics.end());
  nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
  std::int64_t sum = 0;
  for (const std::int32_t nic : nics) sum += rates.nic[static_cast<std::size_t>(nic)];
  return sum;
}

std::int64_t DomainParts::nvlink_rate(const Domain& domain, Members part,
                                      const PartRates& rates) const {
  std::int64_t inside = 0;
  std::int64_t outside = 0;
  for (std::size_t i = 0; i < domain.ranks.size(); ++i)
    ((part >> i & 1) != 0 ? inside : outside) +=
        rates.nvlink[static_cast<std::size_t>(domain.ranks[i])];
  return std::min(inside, outside);
}

template <class BytesOf>
PartCut DomainParts::slowest(const PartRates& rates, BytesOf&& bytes_of) const {
  PartCut worst;
  for (const Domain& domain : domains_)
    for (const Members part : domain.parts) {
      std::int64_t bytes = 0;
      for (const auto& [traffic, amount] : domain.bytes)
        if (bytes_of(traffic, part)) bytes += amount;
      if (bytes == 0) continue;
      const std::int64_t rate = nic_rate(domain, part, rates) + nvlink_rate(domain, part, rates);
      const bool slower = worst.rate == 0 || static_cast<__int128>(bytes) * worst.rate >
                                                 static_cast<__int128>(worst.bytes) * rate;
      if (rate == 0 || !slower) continue;
      worst = {ranks_of(domain, part), bytes, rate};
    }
  return worst;
}

PartCut DomainParts::in(const PartRates& rates) const {
  return slowest(rates, [](const Traffic& traffic, Members part) {
    return (traffic.holders & part) == 0 && (traffic.receivers & part) != 0;
  });
}

PartCut DomainParts::out(const PartRates& rates) const {
  return slowest(rates, [](const Traffic& traffic, Members part) {
    return traffic.holders != 0 && !traffic.held_elsewhere && (traffic.holders & ~part) == 0 &&
           (traffic.wanted_elsewhere || (traffic.receivers & ~part) != 0);
  });
}

}  // namespace transload
