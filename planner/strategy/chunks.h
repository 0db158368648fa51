// Cutting routes into chunks: the one unit that is ordered, posted, staged, forwarded and traced.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/job/job.h"
#include "planner/strategy/routes.h"

namespace transload {

inline constexpr std::int64_t kMinChunk = std::int64_t{4} << 20;
inline constexpr std::int64_t kMaxChunk = std::int64_t{128} << 20;

struct Chunk {
  std::uint32_t route = 0;
  std::uint32_t number = 0;  // within its route
  std::int64_t begin = 0;    // byte range of the class's packed order
  std::int64_t bytes = 0;
};

// clamp(sqrt(o * beta * B / max(1, D - 1)), 4 MiB, 128 MiB), and at least B / 400: o = overhead /
// window, beta and B the rate and bytes of the most loaded port, D the pipeline depth
// (docs/ordering.md derives it). Integer square root, so that every machine agrees.
std::int64_t auto_chunk_bytes(const Fabric& fabric, const RouteSet& routes, std::uint32_t window);

// Cuts every route into equal chunks of at most `chunk_bytes`.
std::vector<Chunk> cut_chunks(const RouteSet& routes, std::int64_t chunk_bytes);

}  // namespace transload
