#include "planner/strategy/chunks.h"

#include <algorithm>

namespace transload {
namespace {

constexpr std::int64_t kCutAlignment = 256;
// Finer than this and a plan for 512 ranks outgrows its limit of 4e5 transfers.
constexpr std::int64_t kChunksPerPort = 400;

std::int64_t integer_sqrt(unsigned __int128 value) {
  unsigned __int128 low = 0;
  unsigned __int128 high = std::uint64_t{1} << 62;
  while (low < high) {
    const unsigned __int128 middle = (low + high + 1) / 2;
    if (middle * middle <= value)
      low = middle;
    else
      high = middle - 1;
  }
  return static_cast<std::int64_t>(low);
}

}  // namespace

std::int64_t auto_chunk_bytes(const Fabric& fabric, const RouteSet& routes, std::uint32_t window) {
  std::vector<std::int64_t> bytes(fabric.port_rate.size(), 0);
  std::int64_t depth = 1;
  for (const Route& route : routes.routes) {
    bytes[static_cast<std::size_t>(route.out_port)] += route.end - route.begin;
    bytes[static_cast<std::size_t>(route.in_port)] += route.end - route.begin;
    if (route.fan_out_count > 0) depth = 2;
  }
  // The most loaded port in time; of equals the first.
  std::size_t port = 0;
  for (std::size_t p = 1; p < bytes.size(); ++p)
    if (static_cast<__int128>(bytes[p]) * fabric.port_rate[port] >
        static_cast<__int128>(bytes[port]) * fabric.port_rate[p])
      port = p;
  if (bytes.empty() || bytes[port] == 0) return kMinChunk;
  const auto overhead_ps = static_cast<unsigned __int128>(fabric.network_overhead_ps / window);
  // o * beta in bytes first: picoseconds x bytes/s is 1e12 times bytes.
  const unsigned __int128 overhead_bytes =
      overhead_ps * static_cast<unsigned __int128>(fabric.port_rate[port]) / 1'000'000'000'000u;
  const std::int64_t root =
      integer_sqrt(overhead_bytes * static_cast<unsigned __int128>(bytes[port]) /
                   static_cast<unsigned __int128>(std::max<std::int64_t>(1, depth - 1)));
  return std::clamp(std::max(root, bytes[port] / kChunksPerPort), kMinChunk, kMaxChunk);
}

std::vector<Chunk> cut_chunks(const RouteSet& routes, std::int64_t chunk_bytes) {
  std::vector<Chunk> chunks;
  for (std::uint32_t r = 0; r < routes.routes.size(); ++r) {
    const Route& route = routes.routes[r];
    const std::int64_t bytes = route.end - route.begin;
    const std::int64_t count = std::max<std::int64_t>(1, (bytes + chunk_bytes - 1) / chunk_bytes);
    std::int64_t at = 0;
    std::uint32_t number = 0;
    for (std::int64_t i = 1; i <= count; ++i) {
      const auto exact = static_cast<std::int64_t>(static_cast<__int128>(bytes) * i / count);
      // Small test jobs ask for chunks below the alignment; then the exact cut is the right one.
      const std::int64_t aligned =
          chunk_bytes >= 4 * kCutAlignment ? exact / kCutAlignment * kCutAlignment : exact;
      const std::int64_t end = i == count ? bytes : aligned;
      if (end <= at && bytes > 0) continue;
      chunks.push_back({r, number++, route.begin + at, end - at});
      at = end;
    }
  }
  return chunks;
}

}  // namespace transload
