// Hops: the transfers of all chunks in their global order, with issue groups and zero-copy
// decisions. Internal to planner/strategy.
//
// A chunk travels the route tree that its bytes lie on: one hop per route and per fan-out rank.
// Hops that load a NIC are ordered by list scheduling, each after the one that lands its bytes;
// NVLink hops directly follow what they hand on.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/emit.h"

namespace transload {

inline constexpr std::uint32_t kNoHop = UINT32_MAX;

// One transfer of one chunk.
struct Hop {
  std::uint32_t chunk = 0;
  std::uint32_t id = 0;         // dense over all hops, in no particular order
  std::uint32_t from = kNoHop;  // the hop that landed the bytes on `source`; none: a holder sends
  std::int32_t group = kNone;
  Rank source = 0;
  Rank destination = 0;
  std::int32_t out_port = kNone;
  std::int32_t in_port = kNone;
  std::uint16_t depth = 1;     // 1: leaves a holder, 2: forwards that, ...
  std::uint16_t forwards = 0;  // hops that hand on what this one lands
  bool packs = false;          // gathered into a send slot first
  bool streams = false;        // moves on what `from` lands while it lands
  bool streamed = false;       // `from` of one that streams
  bool lands = false;          // lands in a slot, for an unpack or for forwards
  bool wanted = true;          // the destination wants the bytes
  std::uint32_t pack_run = 0;
  std::uint32_t unpack_run = 0;
  std::uint32_t send_slot = 0;  // set by assign_slots (planner/strategy/slots.h), where packs
  std::uint32_t land_slot = 0;  // where lands: of the relay class if not wanted
};

struct OrderedHops {
  std::vector<Hop> hops;
  std::int64_t makespan_ps = 0;  // of the list schedule that they stand in
};

// Hops in key order; under groups sorted by group, and a forward at least one group after its
// landing.
OrderedHops order_hops(ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
                       const RouteTrees& trees, const std::vector<Chunk>& chunks,
                       const EmitOptions& options);

// Most transfers of one rank in one issue group.
std::uint32_t most_operations_per_group(const std::vector<Hop>& hops, std::size_t ranks);

}  // namespace transload
