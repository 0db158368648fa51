// Which GPU brings which bucket into the broadcast, round by round. Internal to checkpoint-engine.
#pragma once

#include <vector>

#include "planner/strategy/checkpoint_buckets.h"

namespace transload {

// A bucket and the rank that broadcasts it.
struct RoundBucket {
  const Bucket* bucket = nullptr;
  Rank rank = 0;
};
// At most one bucket per rank, in the order of their broadcasts.
using BucketRound = std::vector<RoundBucket>;

// Broadcast mode: every owner brings its own, round i its i-th.
std::vector<BucketRound> own_rounds(const std::vector<OwnerBuckets>& owners);

// P2P mode: buckets are grouped by the NIC of their owner and dealt NIC by NIC to one receiver per
// NIC of the engines (the lowest rank of each), at most as many receivers as owners' NICs; a pass
// over the receivers ends early where it would use an owner's NIC twice.
std::vector<BucketRound> read_rounds(const std::vector<OwnerBuckets>& owners,
                                     const std::vector<Rank>& engines, const Fabric& fabric);

}  // namespace transload
