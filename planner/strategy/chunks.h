// Cutting routes into chunks: the one unit that is ordered, posted, staged, forwarded and traced.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/job/job.h"
#include "planner/strategy/block_borders.h"
#include "planner/strategy/route_trees.h"

namespace transload {

inline constexpr std::int64_t kMinChunk = std::int64_t{4} << 20;
inline constexpr std::int64_t kMaxChunk = std::int64_t{128} << 20;

struct Chunk {
  std::uint32_t route = 0;         // the root of its route tree
  std::uint32_t demand_class = 0;  // its route's
  std::uint32_t number = 0;        // within its route
  std::int64_t begin = 0;          // byte range of the class's packed order
  std::int64_t bytes = 0;
};

// An automatic chunk grows until a plan has no more transfers than this: 4e5 up to 512 ranks
// (design), beyond with the square root of the ranks (8e5 for 2,048), so that planning and
// simulating stay affordable while chunks stay short beside the refit. Where the largest chunk
// still gives more, nothing can be done: every pair of ranks exchanges something.
std::uint64_t most_transfers(const Fabric& fabric);

// clamp(sqrt(o * beta * B / fill), 4 MiB, 128 MiB): o = overhead / window, beta and B the rate and
// bytes of the most loaded port, `fill_chunks` how many chunk times pass until the last port is
// busy and the last chunk is through (docs/ordering.md derives it). Integer square root, so that
// every machine agrees.
std::int64_t auto_chunk_bytes(const Fabric& fabric, const RouteSet& routes, std::uint32_t window,
                              std::int64_t fill_chunks);

// The same under issue groups, in bytes per group: each costs one overhead, and `stages` of them
// pass until the last transfer is through. Not clamped.
std::int64_t auto_group_bytes(const Fabric& fabric, const RouteSet& routes, std::int64_t stages);

// Whether cutting into chunks of `chunk_bytes` gives more transfers than `most`, forwards and
// fan-out included. Does not know block borders, which merge chunks.
bool exceeds_transfers(const RouteSet& routes, const RouteTrees& trees, std::int64_t chunk_bytes,
                       std::uint64_t most);

// Cuts every route tree into equal chunks of at most `chunk_bytes`; a chunk lies either inside or
// outside the range of each route of its tree. Chunks that are converted are cut at `borders`, and
// may be longer by a row of blocks.
std::vector<Chunk> cut_chunks(const RouteSet& routes, const RouteTrees& trees,
                              std::int64_t chunk_bytes, const BlockBorders& borders);

}  // namespace transload
