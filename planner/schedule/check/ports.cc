#include <fmt/format.h>

#include "planner/schedule/check/checks.h"

namespace transload {
namespace {

PortKind kind_of(const Plan& plan, std::int32_t port) {
  return static_cast<PortKind>(plan.port_kind[static_cast<std::size_t>(port)]);
}
std::int32_t owner_of(const Plan& plan, std::int32_t port) {
  return plan.port_rank[static_cast<std::size_t>(port)];
}

void refuse(const Plan& plan, OpId op, const std::string& why, Findings& findings) {
  findings.add(kAcyclic, describe_op(plan, op) + ": " + why);
}

// A NIC may be shared by the GPUs of a node; an NVLink port is its rank's own.
void check_transfer_port(const Plan& plan, OpId op, std::int32_t port, std::int32_t rank,
                         Findings& findings) {
  const PortKind kind = kind_of(plan, port);
  const std::int32_t owner = owner_of(plan, port);
  const bool nic = kind == PortKind::kNicOut || kind == PortKind::kNicIn;
  const auto node = [&](std::int32_t of) { return plan.rank_node[static_cast<std::size_t>(of)]; };
  if (nic ? node(owner) != node(rank) : owner != rank)
    refuse(plan, op,
           fmt::format("port {} ({}) belongs to rank {}, which rank {} cannot use", port,
                       name_of(kind), owner, rank),
           findings);
}

void check_transfer(const Plan& plan, OpId op, Findings& findings) {
  const std::int32_t out = plan.op_out_port[op];
  const std::int32_t in = plan.op_in_port[op];
  const PortKind out_kind = kind_of(plan, out);
  const PortKind in_kind = kind_of(plan, in);
  const bool nic = out_kind == PortKind::kNicOut && in_kind == PortKind::kNicIn;
  const bool nvlink = out_kind == PortKind::kNvlinkOut && in_kind == PortKind::kNvlinkIn;
  if (!nic && !nvlink) {
    refuse(plan, op,
           fmt::format("ports {} ({}) and {} ({}) are not the two ends of one kind of link", out,
                       name_of(out_kind), in, name_of(in_kind)),
           findings);
    return;
  }
  check_transfer_port(plan, op, out, plan.op_source[op], findings);
  check_transfer_port(plan, op, in, plan.op_destination[op], findings);
  if (nvlink && plan.rank_domain[static_cast<std::size_t>(plan.op_source[op])] !=
                    plan.rank_domain[static_cast<std::size_t>(plan.op_destination[op])])
    refuse(plan, op, "NVLink does not join two domains", findings);
}

void check_one_rank_port(const Plan& plan, OpId op, Findings& findings) {
  const std::int32_t port = plan.op_out_port[op];
  if (port < 0) return;
  const PortKind kind = kind_of(plan, port);
  if (kind != PortKind::kPack && kind != PortKind::kUnpack && kind != PortKind::kHost)
    refuse(plan, op, fmt::format("port {} ({}) is for transfers", port, name_of(kind)), findings);
  else if (owner_of(plan, port) != plan.op_source[op])
    refuse(
        plan, op,
        fmt::format("port {} ({}) belongs to rank {}", port, name_of(kind), owner_of(plan, port)),
        findings);
}

// Role and slots tell the same story; executors choose by either.
void check_role(const Plan& plan, OpId op, Findings& findings) {
  const bool reads_slot = plan.op_source_slot[op] >= 0;
  const bool writes_slot = plan.op_destination_slot[op] >= 0;
  const bool copy = op_kind(plan, op) == OpKind::kCopy;
  const bool transfer = op_kind(plan, op) == OpKind::kTransfer;
  const auto expect = [&](bool holds, std::string_view what) {
    if (!holds)
      refuse(plan, op, fmt::format("role {} must be {}", name_of(op_role(plan, op)), what),
             findings);
  };
  switch (op_role(plan, op)) {
    case OpRole::kPack:
      expect(copy && !reads_slot && writes_slot, "a copy from shards to a slot");
      break;
    case OpRole::kUnpack:
      expect(copy && reads_slot && !writes_slot, "a copy from a slot to shards");
      break;
    case OpRole::kLocal:
      expect(copy && !reads_slot && !writes_slot, "a copy from shards to shards");
      break;
    case OpRole::kConvert:
      expect(op_kind(plan, op) == OpKind::kConvert, "a convert");
      break;
    case OpRole::kExport:
    case OpRole::kLoad:
      expect(copy || transfer, "a copy or a transfer");
      break;
    case OpRole::kBarrier:
      expect(false, "a fence");
      break;
    case OpRole::kInject:
    case OpRole::kForward:
    case OpRole::kFanOut:
    case OpRole::kRelay:
    case OpRole::kCollective:
      expect(transfer, "a transfer");
      break;
  }
}

}  // namespace

void check_ports(const Plan& plan, Findings& findings) {
  for (OpId op = 0; op < plan.operations() && !findings.full(); ++op) {
    if (op_kind(plan, op) == OpKind::kTransfer)
      check_transfer(plan, op, findings);
    else
      check_one_rank_port(plan, op, findings);
    if (moves_bytes(plan, op)) check_role(plan, op, findings);
  }
}

}  // namespace transload
