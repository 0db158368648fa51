// Who sends which bytes of one tensor to whom under NCCL M2N, in three roles.
//
// Sources *inject* into one leader per destination shard, NVLink domain and run of source shards;
// leaders *forward* to the next domain of their chain, store and forward; and every leader *fans
// out* over NVLink to the other replicas of its shard in its domain. A destination shard receives
// into one slot, in which its overlapping source shards stand one after the other, so a move is a
// range of them. Facts: NVIDIA/nccl-extensions 44d2de0, nccl_m2n (hierarchical plan); the plans
// that its host planner emits for 55 jobs are the test's oracle.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "planner/strategy/m2n/balance.h"
#include "planner/strategy/m2n/tensors.h"

namespace transload {

enum class M2nRole : std::uint8_t { kInject, kForward, kFanOut };
std::string_view name_of(M2nRole role);

// What one destination shard receives: the source shards that overlap it, ascending, and where each
// begins in the receive slot (one more entry: the bytes of the shard).
struct M2nReceipt {
  std::vector<std::int32_t> source_shards;
  std::vector<Box> boxes;  // of the (stacked) tensor
  std::vector<std::int64_t> begin;
};

struct M2nMove {
  M2nRole role = M2nRole::kInject;
  Rank source = 0;
  Rank destination = 0;
  std::int32_t shard = 0;  // of the destination: its receipt
  std::int64_t begin = 0;  // byte range of the receipt
  std::int64_t end = 0;
  std::uint32_t hop = 1;  // 1: inject; a forward: 2 and on; a fan-out: one more than its leader's
};

struct M2nMoves {
  M2nPath path = M2nPath::kParent;
  std::vector<M2nReceipt> receipts;  // by destination shard
  std::vector<M2nMove> moves;        // every move after those that bring its bytes
};

// What the destination shards receive, whoever sends it.
std::vector<M2nReceipt> m2n_receipts(const M2nTensor& tensor);

// `domain_of_rank` is the NVLink domain of every rank, ascending with the ranks.
M2nMoves m2n_moves(const M2nTensor& tensor, M2nMode mode,
                   std::span<const std::int32_t> domain_of_rank);

}  // namespace transload
