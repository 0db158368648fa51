// The sizes of NCCL M2N's tables and staging slots: what its planner refuses although it could
// express it. Source of every constant: NVIDIA/nccl-extensions 44d2de0, reshard_limits.h and the
// defaults of its environment variables.
#pragma once

#include <cstdint>

#include "planner/strategy/m2n/moves.h"

namespace transload {

struct M2nLimits {
  std::size_t kernel_sources = 16;  // overlapping source shards per destination shard
  std::size_t pair_sources = 32;    // the same where pairs are put directly (DIRECT, host put)
  std::size_t targets = 64;         // overlapping destination shards per source shard
  std::size_t followers = 128;      // ranks that one leader hands a shard to in its domain
  // One PACK slot, which holds all of a rank's local tensor; NCCL_RESHARD_PACK_BUFFSIZES raises it.
  std::int64_t slot_bytes = std::int64_t{2} << 30;
  std::uint32_t slots = 4;  // PACK slots per device
};

// Adds every limit that the tensor exceeds on its path.
void add_exceeded_limits(const M2nTensor& tensor, const M2nMoves& moves, const M2nLimits& limits,
                         RefusalList& refused);

}  // namespace transload
