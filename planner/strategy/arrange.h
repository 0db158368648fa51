// How routes are cut, ordered and staged: the chunk size, the order of all transfers and the
// staging slots of a plan, before any operation is written. Internal to planner/strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/block_borders.h"
#include "planner/strategy/emit.h"
#include "planner/strategy/hops.h"
#include "planner/strategy/slots.h"

namespace transload {

// A plan's chunks and hops in order, with slots that fit the staging limit.
struct Arrangement {
  EmitOptions shape;
  std::vector<Chunk> chunks;
  std::vector<Hop> hops;
  StagingNeed need;
  std::int64_t makespan_ps = 0;  // of the list schedule
};

// The arrangement that is through first by estimate, of several chunk sizes where they are left to
// the planner. InputError where even the smallest shape does not fit the staging limit, naming
// rank, need and limit.
Arrangement arrange(ClassRuns& runs, const Fabric& fabric, const RouteSet& routes,
                    const RouteTrees& trees, const BlockBorders& borders,
                    const EmitOptions& options);

}  // namespace transload
