#include "simulator/sizing/first_refit.h"

#include <algorithm>
#include <utility>

#include "planner/schedule/access.h"
#include "simulator/sizing/constants.h"

namespace transload {
namespace {

// Pairs (rank, peer), each once, both ways.
std::vector<std::pair<std::int32_t, std::int32_t>> pairs_of(const Plan& plan) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) != OpKind::kTransfer) continue;
    const std::pair pair(plan.op_source[op], plan.op_destination[op]);
    // Chunks of a route stand together.
    if (!pairs.empty() && pairs.back() == std::pair(pair.second, pair.first)) continue;
    pairs.push_back(pair);
    pairs.emplace_back(pair.second, pair.first);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

// Which sides' buffers of a rank transfers touch without staging.
struct DirectUse {
  bool sends = false;
  bool receives = false;
};

std::uint64_t buffer_bytes(const Plan& plan, std::size_t rank, const DirectUse& use) {
  std::uint64_t bytes = 0;
  for (std::uint64_t i = plan.rank_buffer_first[rank]; i < plan.rank_buffer_first[rank + 1]; ++i) {
    const bool source = static_cast<Side>(plan.buffer_side[i]) == Side::kSource;
    if (source ? use.sends : use.receives) bytes += plan.buffer_bytes[i] * plan.buffer_count[i];
  }
  return bytes;
}

std::uint64_t staging_bytes(const Plan& plan, std::size_t rank) {
  std::uint64_t bytes = 0;
  for (std::size_t i = rank * kSlotClasses; i < (rank + 1) * kSlotClasses; ++i)
    bytes += plan.staging_slots[i] * plan.staging_slot_bytes[i];
  return bytes;
}

}  // namespace

FirstRefitCosts first_refit_costs(const Plan& plan) {
  FirstRefitCosts costs;
  const auto pairs = pairs_of(plan);
  for (std::size_t begin = 0; begin < pairs.size();) {
    std::size_t end = begin;
    while (end < pairs.size() && pairs[end].first == pairs[begin].first) ++end;
    costs.peers = std::max(costs.peers, end - begin);
    begin = end;
  }
  std::vector<DirectUse> uses(plan.ranks());
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) != OpKind::kTransfer) continue;
    if (plan.op_source_slot[op] == kNone)
      uses[static_cast<std::size_t>(plan.op_source[op])].sends = true;
    if (plan.op_destination_slot[op] == kNone)
      uses[static_cast<std::size_t>(plan.op_destination[op])].receives = true;
  }
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    costs.registered_bytes = std::max(
        costs.registered_bytes, buffer_bytes(plan, rank, uses[rank]) + staging_bytes(plan, rank));
  const SizingConstants constants;
  costs.connect_s = constants.seconds("connect_per_peer") * static_cast<double>(costs.peers);
  costs.register_s =
      static_cast<double>(costs.registered_bytes) / constants.bytes_per_s("register_rate");
  costs.assumptions = {in_words(constants.of("connect_per_peer")),
                       in_words(constants.of("register_rate"))};
  return costs;
}

}  // namespace transload
