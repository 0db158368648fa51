// Which source replica serves which destination replicas: the two balancers of NCCL M2N.
//
// The unit is a whole destination replica with all its shards; nothing is ever striped over several
// source replicas. Facts: NVIDIA/nccl-extensions 44d2de0, nccl_m2n/src/reshard_loadbalance.cc
// (UNIFORM, NODE_AWARE) and the split communicators' rule of who injects.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/strategy/m2n/mesh.h"

namespace transload {

enum class M2nMode : std::uint8_t { kDefault, kParentNodeAware, kParentUniform, kDirect };

// How the bytes travel.
enum class M2nPath : std::uint8_t {
  kHostPut,  // all ranks in one NVLink domain: the host puts every pair, no chain and no fan-out
  kSplit,    // split communicators: inject, then chain and fan-out among destinations only
  kParent,   // one kernel on the parent communicator
  kDirect,   // DIRECT copy: every destination replica gets its own
};
std::string_view name_of(M2nPath path);

// One source replica and the destination replicas that get their bytes from it, ascending.
struct ReplicaGroup {
  std::int32_t source = 0;
  std::vector<std::int32_t> destinations;
};

// `count` cut in `parts` contiguous ranges of which the first count mod parts are one longer;
// returns the parts + 1 bounds.
std::vector<std::int32_t> contiguous_split(std::int32_t count, std::int32_t parts);

// Equally many replicas pair up. More destinations: contiguous ranges of them. More sources: they
// form groups, and only the first of each group sends.
std::vector<ReplicaGroup> balance_uniform(const M2nMesh& source, const M2nMesh& destination);

// By the NVLink domain of each destination replica's first shard: source replica i serves domain i
// and replicas beyond the domains idle, or, with fewer replicas than domains, contiguous ranges of
// domains. Domains without a replica in between count.
std::vector<ReplicaGroup> balance_node_aware(const M2nMesh& source, const M2nMesh& destination,
                                             std::span<const std::int32_t> domain_of_rank);

// Split communicators: source replica i injects into the i-th stretch of domains that holds whole
// replicas, and every injector's chain goes on in strides of all injectors. Above 200 ranks in the
// parent communicator at most 4 source replicas inject (1 where a replica spans domains). Empty
// where the split is not feasible: more domains than replicas and not a multiple of them.
std::vector<ReplicaGroup> balance_split(const M2nMesh& source, const M2nMesh& destination,
                                        std::span<const std::int32_t> domain_of_rank);

// Ranks of a parent communicator above which M2N balances by node whatever the tensor, and limits
// the injecting replicas.
inline constexpr std::size_t kM2nManyRanks = 200;

}  // namespace transload
