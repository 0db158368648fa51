#include <fmt/format.h>

#include <algorithm>

#include "planner/schedule/check/checks.h"

namespace transload {
namespace {

void check_keys(const Plan& plan, Findings& findings) {
  for (OpId op = 1; op < plan.operations() && !findings.full(); ++op)
    if (plan.op_key[op] <= plan.op_key[op - 1])
      findings.add(kAcyclic, fmt::format("{} has key {}, not above key {} of operation {}",
                                         describe_op(plan, op), plan.op_key[op],
                                         plan.op_key[op - 1], op - 1));
}

void check_edges(const Plan& plan, Findings& findings) {
  for (OpId op = 0; op < plan.operations() && !findings.full(); ++op) {
    for (const OpId before : op_after(plan, op))
      if (before >= op)
        findings.add(kAcyclic, fmt::format("{} waits for operation {}, which is not before it",
                                           describe_op(plan, op), before));
    for (const OpId upstream : op_stream(plan, op))
      if (upstream >= op)
        findings.add(kAcyclic, fmt::format("{} streams from operation {}, which is not before it",
                                           describe_op(plan, op), upstream));
  }
}

bool is_hop(const Plan& plan, OpId op) {
  return op_kind(plan, op) == OpKind::kTransfer && plan.op_collective[op] >= 0;
}

// A stream hop forwards what its upstream lands: same rank, same bundle, same slot.
void check_stream_edge(const Plan& plan, OpId op, OpId upstream, Findings& findings) {
  const auto refuse = [&](std::string_view why) {
    findings.add(kAcyclic, fmt::format("{} streams from {}: {}", describe_op(plan, op),
                                       describe_op(plan, upstream), why));
  };
  if (!is_hop(plan, op) || !is_hop(plan, upstream)) {
    refuse("stream edges join hops of collectives only");
  } else if (plan.op_destination[upstream] != plan.op_source[op]) {
    refuse(fmt::format("the upstream does not land on rank {}", plan.op_source[op]));
  } else if (plan.op_bundle[upstream] != plan.op_bundle[op]) {
    refuse("their bundles differ");
  } else if (plan.op_source_slot[op] < 0 ||
             plan.op_destination_slot[upstream] != plan.op_source_slot[op]) {
    refuse(fmt::format("the upstream writes slot {}, the hop reads slot {}",
                       plan.op_destination_slot[upstream], plan.op_source_slot[op]));
  }
}

void check_programs(const Plan& plan, Findings& findings) {
  for (std::size_t rank = 0; rank < plan.ranks() && !findings.full(); ++rank) {
    const std::span<const OpId> ops = program(plan, static_cast<std::int32_t>(rank));
    const auto fall = std::is_sorted_until(ops.begin(), ops.end());
    if (fall != ops.end())
      findings.add(kAcyclic, fmt::format("the program of rank {} has {} after a later operation",
                                         rank, describe_op(plan, *fall)));
  }
}

}  // namespace

void check_order(const Plan& plan, Findings& findings) {
  check_keys(plan, findings);
  check_edges(plan, findings);
  check_programs(plan, findings);
  for (OpId op = 0; op < plan.operations() && !findings.full(); ++op)
    for (const OpId upstream : op_stream(plan, op)) check_stream_edge(plan, op, upstream, findings);
}

}  // namespace transload
