#include "simulator/replay/precision.h"

#include <algorithm>

namespace transload {
namespace {

constexpr double kExactPrecision = 1e-9;  // seconds
constexpr double kExactShare = 1e-7;      // of the shortest operation
// A clock of T seconds steps by T * 2.2e-16; SimGrid must still tell "now" from "before" with this.
constexpr double kClockResolution = 1e-12;
constexpr double kLeastPrecision = 1e-18;
constexpr double kLoadThatMatters = 0.5;  // of the refit

struct LinkLoad {
  double busy_s = 0;
  double operations = 0;
  double window = 0;  // operations that its ports allow in flight together
};

// Operations of a port that are in flight together at most, if it has `operations` of them.
double port_window(const Plan& plan, std::size_t port, double operations, bool collectives) {
  const PlanHeader& header = plan.header();
  const auto kind = static_cast<PortKind>(plan.port_kind[port]);
  const bool copies = kind == PortKind::kPack || kind == PortKind::kUnpack;
  const bool receives = kind == PortKind::kNicIn || kind == PortKind::kNvlinkIn;
  // Hops of collectives follow one another on a port, whatever the window allows.
  if (collectives && !copies) return 1;
  if (header.discipline == Discipline::kUnbounded || (header.one_sided && receives))
    return operations;
  const std::uint32_t window = header.discipline == Discipline::kGroups && !copies
                                   ? std::max<std::uint32_t>(header.colours_per_group, 1)
                                   : plan.port_window[port];
  return std::min<double>(window, operations);
}

std::vector<LinkLoad> link_loads(const Plan& plan, const OperationCosts& costs) {
  std::vector<LinkLoad> loads(plan.link_kind.size());
  std::vector<double> port_operations(plan.ports(), 0);
  bool collectives = false;
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (costs.wire_bytes[op] <= 0) continue;
    collectives |= plan.op_collective[op] >= 0;
    for (std::int32_t port : {plan.op_out_port[op], plan.op_in_port[op]}) {
      if (port < 0) continue;
      const auto p = static_cast<std::size_t>(port);
      const auto rate = static_cast<double>(link_achieved_rate(plan, plan.port_link[p]));
      if (rate > 0) loads[plan.port_link[p]].busy_s += costs.wire_bytes[op] / rate;
      port_operations[p] += 1;
    }
  }
  for (std::size_t port = 0; port < plan.ports(); ++port) {
    LinkLoad& load = loads[plan.port_link[port]];
    load.operations += port_operations[port];
    load.window += port_window(plan, port, port_operations[port], collectives);
  }
  return loads;
}

double coarse_precision_s(const Plan& plan, const OperationCosts& costs, double estimate_s,
                          double share, std::vector<double>& times) {
  double flight_s = 0;
  for (const LinkLoad& load : link_loads(plan, costs)) {
    if (load.operations == 0 || load.busy_s < kLoadThatMatters * estimate_s) continue;
    const double here = load.busy_s / load.operations * load.window;
    flight_s = flight_s == 0 ? here : std::min(flight_s, here);
  }
  if (flight_s > 0) return share * flight_s;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return share * *middle;
}

}  // namespace

double replay_precision_s(const Plan& plan, const OperationCosts& costs, double estimate_s,
                          bool exact, double coarse_share) {
  const double floor_s = std::max(kClockResolution * estimate_s, kLeastPrecision);
  std::vector<double> times;
  times.reserve(costs.pure_s.size());
  for (const double time : costs.pure_s)
    if (time > 0) times.push_back(time);
  // Without bytes only delays are left, and those are exact.
  if (times.empty()) return std::max(floor_s, std::min(kExactPrecision, 1e-7 * estimate_s));
  if (!exact)
    return std::max(floor_s, coarse_precision_s(plan, costs, estimate_s, coarse_share, times));
  const double shortest = *std::min_element(times.begin(), times.end());
  return std::max(floor_s, std::min(kExactPrecision, kExactShare * shortest));
}

}  // namespace transload
