#include "planner/strategy/chunks.h"

#include <algorithm>

namespace transload {
namespace {

constexpr std::int64_t kCutAlignment = 256;
constexpr std::uint64_t kMostTransfers = 400'000;
constexpr std::uint64_t kRanksOfMost = 512;

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

// sqrt(o * beta * B / fill) of the most loaded port.
std::int64_t best_piece(const Fabric& fabric, const RouteSet& routes, std::int64_t overhead,
                        std::int64_t fill) {
  std::vector<std::int64_t> bytes(fabric.port_rate.size(), 0);
  for (const Route& route : routes.routes) {
    bytes[static_cast<std::size_t>(route.out_port)] += route.end - route.begin;
    bytes[static_cast<std::size_t>(route.in_port)] += route.end - route.begin;
  }
  // The most loaded port in time; of equals the first.
  std::size_t port = 0;
  for (std::size_t p = 1; p < bytes.size(); ++p)
    if (static_cast<__int128>(bytes[p]) * fabric.port_rate[port] >
        static_cast<__int128>(bytes[port]) * fabric.port_rate[p])
      port = p;
  if (bytes.empty() || bytes[port] == 0) return 0;
  const auto overhead_ps = static_cast<unsigned __int128>(overhead);
  // o * beta in bytes first: picoseconds x bytes/s is 1e12 times bytes.
  const unsigned __int128 overhead_bytes =
      overhead_ps * static_cast<unsigned __int128>(fabric.port_rate[port]) / 1'000'000'000'000u;
  return integer_sqrt(overhead_bytes * static_cast<unsigned __int128>(bytes[port]) /
                      static_cast<unsigned __int128>(std::max<std::int64_t>(1, fill)));
}

}  // namespace

std::uint64_t most_transfers(const Fabric& fabric) {
  const auto ranks = static_cast<std::uint64_t>(
      std::count_if(fabric.ranks.begin(), fabric.ranks.end(),
                    [](const RankPorts& ports) { return ports.pack != kNone; }));
  return static_cast<std::uint64_t>(
      integer_sqrt(kMostTransfers * kMostTransfers * std::max(kRanksOfMost, ranks) / kRanksOfMost));
}

std::int64_t auto_chunk_bytes(const Fabric& fabric, const RouteSet& routes, std::uint32_t window,
                              std::int64_t fill_chunks) {
  return std::clamp(best_piece(fabric, routes, fabric.network_overhead_ps / window, fill_chunks),
                    kMinChunk, kMaxChunk);
}

std::int64_t auto_group_bytes(const Fabric& fabric, const RouteSet& routes, std::int64_t stages) {
  return best_piece(fabric, routes, fabric.network_overhead_ps, stages);
}

namespace {

std::int64_t chunks_of(std::int64_t bytes, std::int64_t chunk_bytes) {
  return std::max<std::int64_t>(1, bytes / chunk_bytes + (bytes % chunk_bytes > 0 ? 1 : 0));
}

// Visits the pieces of a root's range that travel one fixed set of routes: (begin, end).
template <class Visit>
void for_each_piece(const RouteSet& routes, const RouteTrees& trees, std::uint32_t root,
                    Visit&& visit) {
  std::int64_t begin = routes.routes[root].begin;
  if (trees.children(root).empty()) {
    visit(begin, routes.routes[root].end);
    return;
  }
  for (const std::int64_t cut : trees.cuts(root)) {
    visit(begin, cut);
    begin = cut;
  }
}

// Transfers that a piece makes if it is one chunk.
std::uint64_t transfers_of(const RouteSet& routes, const RouteTrees& trees, std::uint32_t root,
                           std::int64_t begin, std::int64_t end) {
  std::uint64_t transfers = 1 + routes.routes[root].fan_out_count;
  for (const std::uint32_t child : trees.children(root))
    if (routes.routes[child].begin <= begin && end <= routes.routes[child].end)
      transfers += transfers_of(routes, trees, child, begin, end);
  return transfers;
}

// Cuts [begin, end) of a tree into equal chunks; `number` counts on. `border` moves a cut back to
// where one may be.
template <class Border>
void cut_range(const RouteSet& routes, std::uint32_t root, std::int64_t begin, std::int64_t end,
               std::int64_t chunk_bytes, const Border& border, std::uint32_t& number,
               std::vector<Chunk>& chunks) {
  const std::int64_t bytes = end - begin;
  const std::int64_t count = chunks_of(bytes, chunk_bytes);
  std::int64_t at = 0;
  for (std::int64_t i = 1; i <= count; ++i) {
    const auto exact = static_cast<std::int64_t>(static_cast<__int128>(bytes) * i / count);
    // Small test jobs ask for chunks below the alignment; then the exact cut is the right one.
    const std::int64_t aligned =
        chunk_bytes >= 4 * kCutAlignment ? exact / kCutAlignment * kCutAlignment : exact;
    const std::int64_t to = i == count ? bytes : border(begin + aligned) - begin;
    if (to <= at && bytes > 0) continue;
    chunks.push_back({root, routes.routes[root].demand_class, number++, begin + at, to - at});
    at = to;
  }
}

}  // namespace

bool exceeds_transfers(const RouteSet& routes, const RouteTrees& trees, std::int64_t chunk_bytes,
                       std::uint64_t most) {
  std::uint64_t transfers = 0;
  for (const std::uint32_t root : trees.roots()) {
    for_each_piece(routes, trees, root, [&](std::int64_t begin, std::int64_t end) {
      transfers += transfers_of(routes, trees, root, begin, end) *
                   static_cast<std::uint64_t>(chunks_of(end - begin, chunk_bytes));
    });
    if (transfers > most) return true;
  }
  return false;
}

std::vector<Chunk> cut_chunks(const RouteSet& routes, const RouteTrees& trees,
                              std::int64_t chunk_bytes, const BlockBorders& borders) {
  std::vector<Chunk> chunks;
  chunks.reserve(trees.roots().size());
  for (const std::uint32_t root : trees.roots()) {
    std::uint32_t number = 0;
    const auto border = [&](std::int64_t byte) {
      return borders.before(routes.routes[root].demand_class, byte);
    };
    for_each_piece(routes, trees, root, [&](std::int64_t begin, std::int64_t end) {
      cut_range(routes, root, begin, end, chunk_bytes, border, number, chunks);
    });
  }
  return chunks;
}

}  // namespace transload
