#include "planner/strategy/checkpoint_readers.h"

#include <algorithm>
#include <map>
#include <set>

namespace transload {
namespace {

// The port that names a rank's NIC; ranks without one stand for themselves.
std::int32_t nic_of(Rank rank, const Fabric& fabric) {
  const std::vector<std::int32_t>& nics = fabric.ranks[static_cast<std::size_t>(rank)].nic_out;
  return nics.empty() ? -1 - rank : nics.front();
}

struct Dealt {
  const Bucket* bucket = nullptr;
  std::int32_t nic = 0;  // of its owner
};

// The first buckets of all NICs, then the second ones, and so on.
std::vector<Dealt> flatten(const std::vector<OwnerBuckets>& owners, const Fabric& fabric) {
  std::map<std::int32_t, std::vector<const Bucket*>> rows;
  for (const OwnerBuckets& owner : owners)
    for (const Bucket& bucket : owner.buckets) rows[nic_of(owner.owner, fabric)].push_back(&bucket);
  std::vector<Dealt> flat;
  for (std::size_t column = 0;; ++column) {
    const std::size_t before = flat.size();
    for (const auto& [nic, buckets] : rows)
      if (column < buckets.size()) flat.push_back({buckets[column], nic});
    if (flat.size() == before) return flat;
  }
}

}  // namespace

std::vector<BucketRound> own_rounds(const std::vector<OwnerBuckets>& owners) {
  std::vector<BucketRound> rounds;
  for (std::size_t i = 0;; ++i) {
    BucketRound round;
    for (const OwnerBuckets& owner : owners)
      if (i < owner.buckets.size()) round.push_back({&owner.buckets[i], owner.owner});
    if (round.empty()) return rounds;
    rounds.push_back(std::move(round));
  }
}

std::vector<BucketRound> read_rounds(const std::vector<OwnerBuckets>& owners,
                                     const std::vector<Rank>& engines, const Fabric& fabric) {
  const std::vector<Dealt> flat = flatten(owners, fabric);
  std::set<std::int32_t> owner_nics;
  for (const Dealt& entry : flat) owner_nics.insert(entry.nic);
  std::vector<Rank> receivers;
  std::set<std::int32_t> seen;
  for (const Rank rank : engines)
    if (receivers.size() < owner_nics.size() && seen.insert(nic_of(rank, fabric)).second)
      receivers.push_back(rank);
  std::vector<BucketRound> rounds;
  for (std::size_t next = 0; next < flat.size();) {
    BucketRound round;
    std::set<std::int32_t> used;
    for (const Rank receiver : receivers) {
      if (next == flat.size() || !used.insert(flat[next].nic).second) break;
      round.push_back({flat[next++].bucket, receiver});
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace transload
