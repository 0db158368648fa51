// Routes as *entries*: each is one byte range on its way into one NVLink domain, with everything
// that may be chosen about that way in one place. Internal to the strategy `transload`.
//
// Passes that change how bytes travel without changing what travels where (rails, narrow links,
// peers) take a RouteSet apart into entries, choose other ways, and put it together again.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/routes.h"

namespace transload {

inline constexpr std::uint32_t kNoEntry = UINT32_MAX;

// At most one NVLink hop, one network hop, and NVLink to whoever wants the bytes.
struct Way {
  Rank holder = 0;  // has the bytes; hands them to `sender` over NVLink where that is another rank
  Rank sender = 0;
  Rank landing = 0;               // hands on to all receivers but itself
  std::int32_t out_port = kNone;  // NICs of sender and landing
  std::int32_t in_port = kNone;
};

struct Entry {
  std::uint32_t demand_class = 0;
  std::int64_t begin = 0;  // byte range of the class's packed order
  std::int64_t end = 0;
  std::uint32_t receivers = 0;  // id in `EntrySet::receivers`: ranks of one domain
  // An earlier entry: the way's holder is its landing rank. kNoEntry: the holder holds the class.
  std::uint32_t parent = kNoEntry;
  Way way;
};

struct EntrySet {
  std::vector<Entry> entries;
  RankSets receivers;
  RouteSet rest;  // routes over NVLink alone, and local ones
};

EntrySet to_entries(const RouteSet& set, const Fabric& fabric);
RouteSet to_routes(const EntrySet& set, const Fabric& fabric);

}  // namespace transload
