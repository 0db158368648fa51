#include "simulator/result/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace transload {
namespace {

struct Load {
  double bytes = 0;
  double busy_s = 0;
  bool used = false;
};

std::vector<Load> link_loads(const Plan& plan, const OperationCosts& costs) {
  std::vector<Load> loads(plan.link_kind.size());
  for (OpId op = 0; op < plan.operations(); ++op) {
    const OpKind kind = op_kind(plan, op);
    if (kind == OpKind::kFence) continue;
    for (std::int32_t port : {plan.op_out_port[op], plan.op_in_port[op]}) {
      if (port < 0) continue;
      const std::uint32_t link = plan.port_link[static_cast<std::size_t>(port)];
      Load& load = loads[link];
      load.used = true;
      if (kind == OpKind::kHost) {
        load.busy_s += costs.latency_s[op];
        continue;
      }
      const auto bytes = static_cast<double>(plan.op_bytes[op]);
      if (kind == OpKind::kConvert)
        load.bytes += bytes + static_cast<double>(plan.op_read_bytes[op]);
      else
        load.bytes += kind == OpKind::kCopy ? 2 * bytes : bytes;
      const auto rate = static_cast<double>(link_achieved_rate(plan, link));
      if (rate > 0) load.busy_s += costs.wire_bytes[op] / rate;
    }
    for_each_path_link(plan, op, [&](std::uint32_t link) {
      loads[link].used = true;
      loads[link].bytes += static_cast<double>(plan.op_bytes[op]);
      const auto rate = static_cast<double>(link_achieved_rate(plan, link));
      if (rate > 0) loads[link].busy_s += costs.wire_bytes[op] / rate;
    });
  }
  return loads;
}

// Seconds of launches, rank x lane.
std::vector<double> lane_loads(const Plan& plan) {
  std::vector<double> loads(plan.ranks() * kLanes, 0);
  const auto add = [&](OpId op, bool at_source, std::int32_t rank) {
    loads[static_cast<std::size_t>(rank) * kLanes +
          static_cast<std::size_t>(lane_of(plan, op, at_source))] +=
        lane_occupancy_s(plan, op, at_source);
  };
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (plan.op_out_port[op] >= 0) add(op, true, plan.op_source[op]);
    if (plan.op_in_port[op] >= 0) add(op, false, plan.op_destination[op]);
  }
  return loads;
}

std::int32_t rank_of_link(const Plan& plan, std::size_t link) {
  for (std::size_t port = 0; port < plan.ports(); ++port)
    if (plan.port_link[port] == link) return plan.port_rank[port];
  return kNone;
}

}  // namespace

std::vector<LinkUse> link_use(const Plan& plan, const OperationCosts& costs, double refit_s) {
  const std::vector<Load> loads = link_loads(plan, costs);
  std::vector<LinkUse> uses;
  for (std::size_t link = 0; link < loads.size(); ++link) {
    if (!loads[link].used) continue;
    LinkUse use;
    use.name = plan_name(plan, plan.link_name[link]);
    use.kind = name_of(static_cast<LinkKind>(plan.link_kind[link]));
    use.bytes = static_cast<std::uint64_t>(std::llround(loads[link].bytes));
    use.busy_s = loads[link].busy_s;
    use.utilisation = refit_s > 0 ? use.busy_s / refit_s : 0;
    uses.push_back(std::move(use));
  }
  return uses;
}

std::string bottleneck(const Plan& plan, const OperationCosts& costs, double refit_s) {
  const std::vector<Load> links = link_loads(plan, costs);
  const std::vector<double> lanes = lane_loads(plan);
  const auto link = std::max_element(
      links.begin(), links.end(), [](const Load& a, const Load& b) { return a.busy_s < b.busy_s; });
  const auto lane = std::max_element(lanes.begin(), lanes.end());
  const double link_s = link == links.end() ? 0 : link->busy_s;
  const double lane_s = lane == lanes.end() ? 0 : *lane;
  if (refit_s <= 0 || std::max(link_s, lane_s) <= 0) return "";
  const double percent = 100 * std::max(link_s, lane_s) / refit_s;
  if (link_s >= lane_s) {
    const auto index = static_cast<std::size_t>(link - links.begin());
    const std::int32_t rank = rank_of_link(plan, index);
    const std::string_view kind = name_of(static_cast<LinkKind>(plan.link_kind[index]));
    if (rank == kNone)
      return fmt::format("{} {}: busy {:.0f} %", kind, plan_name(plan, plan.link_name[index]),
                         percent);
    return fmt::format("{} of rank {}: busy {:.0f} %", kind, rank, percent);
  }
  const auto index = static_cast<std::size_t>(lane - lanes.begin());
  return fmt::format("launches in lane {} of rank {}: busy {:.0f} %",
                     name_of(static_cast<Lane>(index % kLanes)), index / kLanes, percent);
}

}  // namespace transload
