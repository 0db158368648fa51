#include "planner/strategy/m2n/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "common/units.h"

namespace transload {
namespace {

std::size_t most_sources(const M2nMoves& moves) {
  std::size_t most = 0;
  for (const M2nReceipt& receipt : moves.receipts)
    most = std::max(most, receipt.source_shards.size());
  return most;
}

std::size_t most_targets(const M2nTensor& tensor, const M2nMoves& moves) {
  std::vector<std::size_t> targets(static_cast<std::size_t>(tensor.source.shards), 0);
  for (const M2nReceipt& receipt : moves.receipts)
    for (const std::int32_t shard : receipt.source_shards)
      ++targets[static_cast<std::size_t>(shard)];
  return *std::max_element(targets.begin(), targets.end());
}

std::size_t most_followers(const M2nMoves& moves) {
  std::map<std::tuple<Rank, std::int32_t, std::int64_t>, std::size_t> followers;
  std::size_t most = 0;
  for (const M2nMove& move : moves.moves)
    if (move.role == M2nRole::kFanOut)
      most = std::max(most, ++followers[{move.source, move.shard, move.begin}]);
  return most;
}

std::int64_t local_bytes(const M2nTensor& tensor, const M2nMesh& mesh) {
  return volume(shard_box(tensor, mesh, 0)) * tensor.element_bytes;
}

}  // namespace

void add_exceeded_limits(const M2nTensor& tensor, const M2nMoves& moves, const M2nLimits& limits,
                         RefusalList& refused) {
  const bool pairs = moves.path == M2nPath::kDirect || moves.path == M2nPath::kHostPut;
  const std::size_t sources = pairs ? limits.pair_sources : limits.kernel_sources;
  const auto at_most = [&](std::size_t limit, std::size_t value, const char* what) {
    if (value > limit)
      refused.add(fmt::format("at most {} {}", limit, what), fmt::format("{}", value), tensor.name);
  };
  at_most(sources, most_sources(moves), "overlapping source shards per destination shard");
  at_most(limits.targets, most_targets(tensor, moves),
          "overlapping destination shards per source shard");
  at_most(limits.followers, most_followers(moves), "followers of a leader in its NVLink domain");
  if (moves.path == M2nPath::kDirect) return;
  const std::int64_t bytes =
      std::max(local_bytes(tensor, tensor.source), local_bytes(tensor, tensor.destination));
  if (bytes > limits.slot_bytes)
    refused.add(fmt::format("a rank's shard in one staging slot of {}",
                            format_bytes(static_cast<double>(limits.slot_bytes))),
                format_bytes(static_cast<double>(bytes)), tensor.name);
}

}  // namespace transload
