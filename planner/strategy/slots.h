// Staging slots: which slot each hop packs into and lands in. Internal to planner/strategy.
//
// A slot is taken by a pack or a landing and free again when all that use it stand earlier in the
// order (under groups: in an earlier group), so reuse is an edge from a smaller to a larger key.
// Each class of a rank has two windows of slots; more only where landings wait longer for their
// forwards.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/hops.h"

namespace transload {

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
