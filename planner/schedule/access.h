// Small readers over a plan's tables that every user of a plan needs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "planner/schedule/plan_file.h"

namespace transload {

inline OpKind op_kind(const Plan& plan, OpId op) { return static_cast<OpKind>(plan.op_kind[op]); }
inline OpRole op_role(const Plan& plan, OpId op) { return static_cast<OpRole>(plan.op_role[op]); }
// Does the operation move bytes of a bundle (copy, convert or transfer)?
inline bool moves_bytes(const Plan& plan, OpId op) {
  const OpKind kind = op_kind(plan, op);
  return kind == OpKind::kCopy || kind == OpKind::kConvert || kind == OpKind::kTransfer;
}
// A convert on a receiver: it reads destination shards, where what it converts has arrived.
inline bool reads_arrived(const Plan& plan, OpId op) {
  if (op_kind(plan, op) != OpKind::kConvert || plan.op_source_slot[op] >= 0) return false;
  const auto bundle = static_cast<std::size_t>(plan.op_bundle[op]);
  const std::uint64_t slice = plan.bundle_slice_first[bundle];
  return slice < plan.bundle_slice_first[bundle + 1] &&
         static_cast<Making>(plan.tensor_making[plan.slice_tensor_first[slice]]) ==
             Making::kAtDestination;
}
inline std::span<const OpId> op_after(const Plan& plan, OpId op) {
  return plan.op_after.subspan(plan.op_after_first[op],
                               plan.op_after_first[op + 1] - plan.op_after_first[op]);
}
inline std::span<const OpId> op_stream(const Plan& plan, OpId op) {
  return plan.op_stream.subspan(plan.op_stream_first[op],
                                plan.op_stream_first[op + 1] - plan.op_stream_first[op]);
}
// Operations of one rank by key.
inline std::span<const OpId> program(const Plan& plan, std::int32_t rank) {
  const auto r = static_cast<std::size_t>(rank);
  return plan.rank_op.subspan(plan.rank_op_first[r],
                              plan.rank_op_first[r + 1] - plan.rank_op_first[r]);
}
inline std::string_view plan_name(const Plan& plan, std::uint64_t offset) {
  return plan.names.data() + offset;
}
inline std::string_view tensor_name(const Plan& plan, std::uint32_t tensor) {
  return plan_name(plan, plan.tensor_name[tensor]);
}
inline std::span<const std::int64_t> tensor_shape(const Plan& plan, std::uint32_t tensor) {
  return plan.extents.subspan(plan.tensor_shape[tensor], plan.tensor_dims[tensor]);
}
// Bounds of a box as lo, hi, lo, hi, ... for a tensor of `dims` dimensions.
inline std::span<const std::int64_t> box_bounds(const Plan& plan, std::uint64_t box, int dims) {
  return plan.bounds.subspan(box, 2 * static_cast<std::size_t>(dims));
}
// achieved = line * efficiency, bytes/s; 0: costs no time.
std::int64_t link_achieved_rate(const Plan& plan, std::uint32_t link);

// The lane of an operation on one of its ranks. On a transfer: out-lane at the source, in-lane at
// the destination (a transfer within one rank never occurs).
Lane lane_of(const Plan& plan, OpId op, bool at_source);

// Is this rank a participant (has shards, zero fills or operations)?
bool takes_part(const Plan& plan, std::int32_t rank);

// CSR of a port's operations in key order: what the port posts, in order.
struct PortLists {
  std::vector<std::uint64_t> first;  // ports + 1
  std::vector<OpId> ops;
  std::span<const OpId> of(std::size_t port) const {
    return std::span(ops).subspan(first[port], first[port + 1] - first[port]);
  }
};
PortLists port_lists(const Plan& plan);

// Links of an operation that are behind no port, sender's side first (`plan.path_link`).
template <class Visit>
void for_each_path_link(const Plan& plan, OpId op, Visit&& visit) {
  for (const std::uint32_t path : {plan.op_out_path[op], plan.op_in_path[op]})
    for (std::uint64_t i = plan.path_link_first[path]; i < plan.path_link_first[path + 1]; ++i)
      visit(plan.path_link[i]);
}

// CSR of successors: plain (after) and stream edges reversed.
struct Successors {
  std::vector<std::uint64_t> first;  // N + 1
  std::vector<OpId> ops;
  std::span<const OpId> of(OpId op) const {
    return std::span(ops).subspan(first[op], first[op + 1] - first[op]);
  }
};
Successors after_successors(const Plan& plan);
Successors stream_successors(const Plan& plan);

// Byte totals that `plan`, `compare` and reports print.
struct PlanTotals {
  std::uint64_t payload_bytes = 0;  // what the destinations hold, replicas included
  std::uint64_t network_bytes = 0;  // crossed an NVLink-domain border
  std::uint64_t nvlink_bytes = 0;
  std::uint64_t local_bytes = 0;  // local copies
  std::uint64_t max_nic_out_bytes = 0;
  std::uint64_t max_nic_in_bytes = 0;
  std::uint64_t staging_bytes = 0;  // of the rank that needs most
  std::uint64_t max_peers = 0;      // ranks that one rank exchanges bytes with over the network
  std::vector<std::uint64_t> port_bytes;
};
PlanTotals plan_totals(const Plan& plan);

// The first convert operation; kNone where the plan has none.
std::int64_t first_convert(const Plan& plan);

// Bytes of a rank's buffers of both sides and of its staging: what it must have room for.
std::uint64_t rank_peak_bytes(const Plan& plan, std::int32_t rank);

}  // namespace transload
