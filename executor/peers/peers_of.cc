#include "executor/peers/peers_of.h"

#include <set>

#include "planner/schedule/access.h"

namespace transload {

Plane plane_of(const Plan& plan, OpId op) {
  const auto port = static_cast<std::size_t>(plan.op_out_port[op]);
  return static_cast<PortKind>(plan.port_kind[port]) == PortKind::kNvlinkOut ? Plane::kNvlink
                                                                             : Plane::kNetwork;
}

std::vector<PeerPlane> peers_of(const Plan& plan, const Hosting& hosting) {
  std::set<PeerPlane> peers;
  const auto add = [&](std::int32_t a, std::int32_t b, Plane plane) {
    if (a == b) return;
    if (a == hosting.self()) peers.insert({b, plane});
    if (b == hosting.self()) peers.insert({a, plane});
  };
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (hosting.crosses(plan, op))
      add(hosting.process_of(plan.op_source[op]), hosting.process_of(plan.op_destination[op]),
          plane_of(plan, op));
    for (const OpId before : op_after(plan, op))
      if (!hosting.share_a_process(plan, op, before))
        add(hosting.process_of(plan.op_destination[before]), hosting.process_of(plan.op_source[op]),
            Plane::kNetwork);
  }
  return {peers.begin(), peers.end()};
}

}  // namespace transload
