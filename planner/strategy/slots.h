// Staging slots: which slot each hop packs into and lands in. Internal to planner/strategy.
//
// A slot is taken by a pack or a landing and free again when all that use it stand earlier in the
// order (under groups: in an earlier group), so reuse is an edge from a smaller to a larger key.
// Under windows each class of a rank has several windows of slots as far as staging allows: chunks
// do not land in exactly the order of the list, and a reuse that waits for a straggler holds up its
// port.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/hops.h"

namespace transload {

// Windows of slots that a class spreads over before any slot is used twice, and the least where
// staging is short (measured on DeepSeek-V3, 128 to 128 GPUs: 1.5 % over the bound with four, 3.9 %
// with two). A rank that receives over NVLink what others landed gets as much more as it receives
// more.
inline constexpr std::uint32_t kSpareWindows = 4;
inline constexpr std::uint32_t kLeastSpareWindows = 2;

// Slots that each rank needs per class, and their size.
struct StagingNeed {
  struct PerRank {
    std::vector<std::uint32_t> slots;  // by rank
    std::vector<std::int64_t> bytes;   // of one slot
  };
  PerRank send;
  PerRank land;
  PerRank relay;
  std::int64_t most_bytes = 0;  // of the rank that needs most
  Rank most_rank = 0;
};

// Sets `send_slot` and `land_slot` of every hop, numbered within their class.
StagingNeed assign_slots(std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                         const Fabric& fabric, const EmitOptions& options);

}  // namespace transload
