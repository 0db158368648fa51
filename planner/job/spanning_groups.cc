#include "planner/job/spanning_groups.h"

#include <algorithm>
#include <set>

namespace transload {
namespace {

std::int32_t domain_of(const Topology& topology, Rank rank) {
  return topology.gpus[static_cast<std::size_t>(rank)].domain;
}

std::int64_t largest_domain(const Topology& topology) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(topology.domain_count), 0);
  for (const Gpu& gpu : topology.gpus) ++sizes[static_cast<std::size_t>(gpu.domain)];
  return sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
}

}  // namespace

std::vector<SpanningGroups> spanning_groups(const std::string& side, const std::string& axis,
                                            std::int64_t size, std::span<const Rank> ranks,
                                            const Topology& topology) {
  if (size < 2) return {};
  SpanningGroups found;
  found.side = side;
  found.axis = axis;
  found.size = size;
  const auto step = static_cast<std::size_t>(size);
  for (std::size_t begin = 0; begin + step <= ranks.size(); begin += step) {
    ++found.groups;
    std::set<std::int32_t> domains;
    for (Rank rank : ranks.subspan(begin, step)) domains.insert(domain_of(topology, rank));
    if (domains.size() < 2) continue;
    if (found.spanning++ > 0) continue;
    const auto group = ranks.subspan(begin, step);
    found.first.assign(group.begin(), group.end());
    found.domains = static_cast<std::int64_t>(domains.size());
  }
  if (found.spanning == 0) return {};
  found.avoidable = largest_domain(topology) >= size;
  return {found};
}

}  // namespace transload
