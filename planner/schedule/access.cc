#include "planner/schedule/access.h"

#include <algorithm>

#include "common/check.h"
#include "common/dtype.h"

namespace transload {
namespace {

// Counting sort of (row -> op) pairs into CSR form; ops stay in ascending order within a row.
template <class ForEachPair>
void fill_csr(std::size_t rows, std::vector<std::uint64_t>& first, std::vector<OpId>& ops,
              ForEachPair&& for_each_pair) {
  first.assign(rows + 1, 0);
  for_each_pair([&](std::size_t row, OpId) { ++first[row + 1]; });
  for (std::size_t row = 0; row < rows; ++row) first[row + 1] += first[row];
  ops.resize(first[rows]);
  std::vector<std::uint64_t> next(first.begin(), first.end() - 1);
  for_each_pair([&](std::size_t row, OpId op) { ops[next[row]++] = op; });
}

Successors reverse_edges(std::span<const std::uint64_t> first, std::span<const OpId> predecessors,
                         std::size_t operations) {
  Successors successors;
  fill_csr(operations, successors.first, successors.ops, [&](auto&& visit) {
    for (std::size_t op = 0; op < operations; ++op)
      for (std::uint64_t i = first[op]; i < first[op + 1]; ++i)
        visit(predecessors[i], static_cast<OpId>(op));
  });
  return successors;
}

void add_traffic(const Plan& plan, OpId op, PlanTotals& totals) {
  const std::uint64_t bytes = plan.op_bytes[op];
  const auto out = static_cast<std::size_t>(plan.op_out_port[op]);
  totals.port_bytes[out] += bytes;
  if (op_kind(plan, op) != OpKind::kTransfer) {
    if (op_role(plan, op) == OpRole::kLocal) totals.local_bytes += bytes;
    return;
  }
  totals.port_bytes[static_cast<std::size_t>(plan.op_in_port[op])] += bytes;
  const auto source = static_cast<std::size_t>(plan.op_source[op]);
  const auto destination = static_cast<std::size_t>(plan.op_destination[op]);
  if (plan.rank_domain[source] != plan.rank_domain[destination])
    totals.network_bytes += bytes;
  else
    totals.nvlink_bytes += bytes;
}

std::uint64_t max_peers(const Plan& plan) {
  std::vector<std::vector<bool>> seen(plan.ranks());  // by the smaller rank and the larger
  std::vector<std::uint64_t> peers(plan.ranks(), 0);
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) != OpKind::kTransfer) continue;
    const auto source = static_cast<std::size_t>(plan.op_source[op]);
    const auto destination = static_cast<std::size_t>(plan.op_destination[op]);
    if (plan.rank_domain[source] == plan.rank_domain[destination]) continue;
    // One connection serves both directions.
    std::vector<bool>& row = seen[std::min(source, destination)];
    if (row.empty()) row.resize(plan.ranks(), false);
    if (row[std::max(source, destination)]) continue;
    row[std::max(source, destination)] = true;
    ++peers[source];
    ++peers[destination];
  }
  return peers.empty() ? 0 : *std::max_element(peers.begin(), peers.end());
}

std::uint64_t staging_bytes(const Plan& plan, std::size_t rank) {
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < kSlotClasses; ++c)
    bytes += plan.staging_slots[rank * kSlotClasses + c] *
             plan.staging_slot_bytes[rank * kSlotClasses + c];
  return bytes;
}

std::uint64_t box_elements(const Plan& plan, std::uint64_t box, int dims) {
  std::uint64_t elements = 1;
  const auto bounds = box_bounds(plan, box, dims);
  for (int d = 0; d < dims; ++d)
    elements *= static_cast<std::uint64_t>(bounds[2 * static_cast<std::size_t>(d) + 1] -
                                           bounds[2 * static_cast<std::size_t>(d)]);
  return elements;
}

}  // namespace

std::int64_t link_achieved_rate(const Plan& plan, std::uint32_t link) {
  const auto scaled = static_cast<__int128>(plan.link_rate[link]) * plan.link_efficiency_ppm[link];
  const auto rate = static_cast<std::int64_t>(scaled / 1'000'000);
  return plan.link_rate[link] > 0 ? std::max<std::int64_t>(rate, 1) : 0;
}

Lane lane_of(const Plan& plan, OpId op, bool at_source) {
  const std::int32_t port =
      at_source || plan.op_in_port[op] < 0 ? plan.op_out_port[op] : plan.op_in_port[op];
  if (port < 0) return Lane::kHost;
  switch (static_cast<PortKind>(plan.port_kind[static_cast<std::size_t>(port)])) {
    case PortKind::kNicOut:
      return Lane::kNetOut;
    case PortKind::kNicIn:
      return Lane::kNetIn;
    case PortKind::kNvlinkOut:
      return Lane::kNvlinkOut;
    case PortKind::kNvlinkIn:
      return Lane::kNvlinkIn;
    case PortKind::kPack:
      return Lane::kPack;
    case PortKind::kUnpack:
      return Lane::kUnpack;
    case PortKind::kHost:
      return Lane::kHost;
  }
  return Lane::kHost;
}

bool takes_part(const Plan& plan, std::int32_t rank) {
  const auto r = static_cast<std::size_t>(rank);
  return plan.rank_shard_first[r] != plan.rank_shard_first[r + 1] ||
         plan.rank_fill_first[r] != plan.rank_fill_first[r + 1] ||
         plan.rank_op_first[r] != plan.rank_op_first[r + 1];
}

PortLists port_lists(const Plan& plan) {
  PortLists lists;
  fill_csr(plan.ports(), lists.first, lists.ops, [&](auto&& visit) {
    for (OpId op = 0; op < plan.operations(); ++op) {
      if (plan.op_out_port[op] >= 0) visit(static_cast<std::size_t>(plan.op_out_port[op]), op);
      if (plan.op_in_port[op] >= 0) visit(static_cast<std::size_t>(plan.op_in_port[op]), op);
    }
  });
  return lists;
}

Successors after_successors(const Plan& plan) {
  return reverse_edges(plan.op_after_first, plan.op_after, plan.operations());
}

Successors stream_successors(const Plan& plan) {
  return reverse_edges(plan.op_stream_first, plan.op_stream, plan.operations());
}

PlanTotals plan_totals(const Plan& plan) {
  PlanTotals totals;
  totals.port_bytes.assign(plan.ports(), 0);
  for (OpId op = 0; op < plan.operations(); ++op)
    if (moves_bytes(plan, op)) add_traffic(plan, op, totals);
  for (std::size_t port = 0; port < plan.ports(); ++port) {
    const auto kind = static_cast<PortKind>(plan.port_kind[port]);
    const std::uint64_t bytes = totals.port_bytes[port];
    if (kind == PortKind::kNicOut)
      totals.max_nic_out_bytes = std::max(totals.max_nic_out_bytes, bytes);
    if (kind == PortKind::kNicIn)
      totals.max_nic_in_bytes = std::max(totals.max_nic_in_bytes, bytes);
  }
  // What is only there for a conversion on the receiver is no payload.
  std::vector<bool> raw(plan.tensors(), false);
  for (std::size_t tensor = 0; tensor < plan.tensors(); ++tensor)
    if (static_cast<Making>(plan.tensor_making[tensor]) == Making::kAtDestination)
      raw[plan.tensor_made_from[tensor]] = true;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    totals.staging_bytes = std::max(totals.staging_bytes, staging_bytes(plan, rank));
    for (std::uint64_t i = plan.rank_shard_first[rank]; i < plan.rank_shard_first[rank + 1]; ++i) {
      if (static_cast<Side>(plan.shard_side[i]) != Side::kDestination) continue;
      const std::uint32_t tensor = plan.shard_tensor_first[i];
      if (raw[tensor]) continue;
      const auto bits =
          static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(plan.tensor_dtype[tensor])));
      totals.payload_bytes += box_elements(plan, plan.shard_box[i], plan.tensor_dims[tensor]) *
                              bits / 8 * plan.shard_tensor_count[i];
    }
  }
  totals.max_peers = max_peers(plan);
  return totals;
}

std::int64_t first_convert(const Plan& plan) {
  for (OpId op = 0; op < plan.operations(); ++op)
    if (op_kind(plan, op) == OpKind::kConvert) return op;
  return kNone;
}

std::uint64_t rank_peak_bytes(const Plan& plan, std::int32_t rank) {
  const auto r = static_cast<std::size_t>(rank);
  std::uint64_t bytes = staging_bytes(plan, r);
  for (std::uint64_t i = plan.rank_buffer_first[r]; i < plan.rank_buffer_first[r + 1]; ++i)
    bytes += plan.buffer_bytes[i] * plan.buffer_count[i];
  return bytes;
}

}  // namespace transload
