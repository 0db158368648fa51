#include "planner/strategy/m2n/balance.h"

#include <algorithm>

namespace transload {
namespace {

constexpr std::int32_t kInjectorsOfManyRanks = 4;

std::int32_t domain(std::span<const std::int32_t> domain_of_rank, Rank rank) {
  return domain_of_rank[static_cast<std::size_t>(rank)];
}

// Per destination replica: the domain of its first shard, counted from the least one.
std::vector<std::int32_t> replica_domains(const M2nMesh& destination,
                                          std::span<const std::int32_t> domain_of_rank) {
  std::vector<std::int32_t> domains;
  for (std::int32_t replica = 0; replica < destination.replicas; ++replica)
    domains.push_back(domain(domain_of_rank, destination.rank(replica, 0)));
  const std::int32_t first = *std::min_element(domains.begin(), domains.end());
  for (std::int32_t& its : domains) its -= first;
  return domains;
}

std::int32_t last_of(const std::vector<std::int32_t>& values) {
  return *std::max_element(values.begin(), values.end());
}

// One group per source; destination replica r goes to source `source_of(r)`.
template <class SourceOf>
std::vector<ReplicaGroup> group_by(std::int32_t sources, std::int32_t destinations,
                                   SourceOf&& source_of) {
  std::vector<ReplicaGroup> groups(static_cast<std::size_t>(sources));
  for (std::int32_t i = 0; i < sources; ++i) groups[static_cast<std::size_t>(i)].source = i;
  for (std::int32_t replica = 0; replica < destinations; ++replica)
    groups[static_cast<std::size_t>(source_of(replica))].destinations.push_back(replica);
  std::erase_if(groups, [](const ReplicaGroup& group) { return group.destinations.empty(); });
  return groups;
}

// Number of the range of `bounds` (as contiguous_split returns them) that holds `index`.
std::int32_t range_of(const std::vector<std::int32_t>& bounds, std::int32_t index) {
  return static_cast<std::int32_t>(std::upper_bound(bounds.begin(), bounds.end(), index) -
                                   bounds.begin()) -
         1;
}

}  // namespace

std::string_view name_of(M2nPath path) {
  switch (path) {
    case M2nPath::kHostPut:
      return "host put";
    case M2nPath::kSplit:
      return "split communicators";
    case M2nPath::kParent:
      return "parent communicator";
    case M2nPath::kDirect:
      return "direct";
  }
  return "";
}

std::vector<std::int32_t> contiguous_split(std::int32_t count, std::int32_t parts) {
  std::vector<std::int32_t> bounds = {0};
  for (std::int32_t i = 0; i < parts; ++i)
    bounds.push_back(bounds.back() + count / parts + (i < count % parts ? 1 : 0));
  return bounds;
}

std::vector<ReplicaGroup> balance_uniform(const M2nMesh& source, const M2nMesh& destination) {
  if (source.replicas <= destination.replicas) {
    const auto bounds = contiguous_split(destination.replicas, source.replicas);
    return group_by(source.replicas, destination.replicas,
                    [&](std::int32_t replica) { return range_of(bounds, replica); });
  }
  const auto bounds = contiguous_split(source.replicas, destination.replicas);
  return group_by(source.replicas, destination.replicas,
                  [&](std::int32_t replica) { return bounds[static_cast<std::size_t>(replica)]; });
}

std::vector<ReplicaGroup> balance_node_aware(const M2nMesh& source, const M2nMesh& destination,
                                             std::span<const std::int32_t> domain_of_rank) {
  const std::vector<std::int32_t> domains = replica_domains(destination, domain_of_rank);
  const std::int32_t count = last_of(domains) + 1;
  const auto bounds = contiguous_split(count, std::min(count, source.replicas));
  return group_by(source.replicas, destination.replicas, [&](std::int32_t replica) {
    return range_of(bounds, domains[static_cast<std::size_t>(replica)]);
  });
}

std::vector<ReplicaGroup> balance_split(const M2nMesh& source, const M2nMesh& destination,
                                        std::span<const std::int32_t> domain_of_rank) {
  const std::vector<std::int32_t> domains = replica_domains(destination, domain_of_rank);
  const std::int32_t count = domain(domain_of_rank, destination.ranks.back()) -
                             domain(domain_of_rank, destination.ranks.front()) + 1;
  if (destination.replicas_inside) {
    // M2N takes a replica to span all domains here; its injectors still follow the domains of the
    // first shard. (Fewer source replicas than such domains: no plan of NVIDIA's shows the
    // strides.)
    const std::int32_t injectors =
        source.ranks.size() + destination.ranks.size() > kM2nManyRanks && count > 1
            ? 1
            : std::min(source.replicas, last_of(domains) + 1);
    return group_by(injectors, destination.replicas, [&](std::int32_t replica) {
      return domains[static_cast<std::size_t>(replica)] % injectors;
    });
  }
  if (count >= destination.replicas && count % destination.replicas != 0) return {};
  const std::int32_t per_replica = std::max(1, count / destination.replicas);
  std::int32_t injectors = std::min(source.replicas, count / per_replica);
  if (source.ranks.size() + destination.ranks.size() > kM2nManyRanks)
    injectors = per_replica > 1 ? 1 : std::min(kInjectorsOfManyRanks, injectors);
  return group_by(injectors, destination.replicas, [&](std::int32_t replica) {
    return domains[static_cast<std::size_t>(replica)] / per_replica % injectors;
  });
}

}  // namespace transload
