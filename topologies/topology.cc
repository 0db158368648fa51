#include "topologies/topology.h"

#include "common/check.h"

namespace transload {

std::int64_t achieved_rate(std::int64_t line, std::int64_t efficiency_ppm) {
  TRANSLOAD_CHECK(line >= 0 && efficiency_ppm >= 0, "rates and efficiencies are not negative");
  return static_cast<std::int64_t>(static_cast<__int128>(line) * efficiency_ppm / kPpm);
}

const LinkCosts& nic_costs(const Topology& topology, const Nic& nic) {
  return topology.link_costs[static_cast<std::size_t>(nic.costs)];
}

const LinkCosts& nvlink_costs(const Topology& topology, const Gpu& gpu) {
  return topology.link_costs[static_cast<std::size_t>(gpu.nvlink_costs)];
}

}  // namespace transload
