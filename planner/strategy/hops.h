// Hops: the transfers of all chunks in their global order, with issue groups and zero-copy
// decisions. Internal to planner/strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/emit.h"

namespace transload {

// One transfer of one chunk: the first from a holder to the landing rank, the others from there.
struct Hop {
  std::uint32_t chunk = 0;
  std::uint16_t hop = 0;  // 0: holder to landing; j > 0: landing to fan-out rank j - 1
  std::int32_t group = kNone;
  Rank source = 0;
  Rank destination = 0;
  std::int32_t out_port = kNone;
  std::int32_t in_port = kNone;
  bool packs = false;    // hop 0 only: gathered into a send slot first
  bool unpacks = false;  // lands in a slot
  std::uint32_t pack_run = 0;
  std::uint32_t unpack_run = 0;
};

// Hops in key order: under windows chunk after chunk in list order, each followed by its fan-out;
// under groups sorted by group, a chunk's fan-out in the group after its landing.
std::vector<Hop> order_hops(const ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
                            const std::vector<Chunk>& chunks, const EmitOptions& options);

// Most transfers of one rank in one issue group.
std::uint32_t most_operations_per_group(const std::vector<Hop>& hops, std::size_t ranks);

// Slots that each rank needs per class, and their size.
struct StagingNeed {
  std::vector<std::uint32_t> send_slots;  // by rank
  std::vector<std::uint32_t> land_slots;
  std::vector<std::int64_t> send_bytes;  // of one slot
  std::vector<std::int64_t> land_bytes;
  std::int64_t most_bytes = 0;  // of the rank that needs most
  Rank most_rank = 0;
};
StagingNeed staging_need(const std::vector<Hop>& hops, const std::vector<Chunk>& chunks,
                         const Fabric& fabric, const EmitOptions& options);

}  // namespace transload
