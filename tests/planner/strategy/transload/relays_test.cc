// What relays are worth, on the bytes of every port: DeepSeek-V3 in bf16 from 256 trainers (pp 16
// of 3 | 14 x 4 | 2 layers, ep 16) to eight replicas of tp 32.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/units.h"
#include "planner/strategy/helper_ranks.h"
#include "planner/strategy/strategy.h"
#include "planner/strategy/transload/assign.h"

namespace transload {
namespace {

// Time of the most loaded NIC, at achieved rates.
double busiest_nic_s(const Job& job, const PlanningInput& input, std::int64_t relay_use) {
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem, helper_ranks(job));
  const RouteSet set = assign_balanced(job.problem, input.demand, fabric,
                                       {may_help(job), input.bounds.bound_ps, relay_use});
  PortLoads loads(fabric);
  for (const Route& route : set.routes)
    for (const std::int32_t port : {route.out_port, route.in_port})
      loads.add(port, route.end - route.begin);
  std::int64_t most = 0;
  for (const RankPorts& ports : fabric.ranks)
    for (const auto* nics : {&ports.nic_out, &ports.nic_in})
      for (const std::int32_t port : *nics) most = std::max(most, loads.of(port));
  return to_seconds(most);
}

TEST(Relays, DeepSeekV3IsSourceBoundWithoutThem) {
  // Line rates give 842.6 ms for what must land in a domain and 924.7 ms for what the busiest
  // sources send without relays (facts in issue 6); NICs reach 95 % of that.
  const Job job = job_from_text(R"(
model: deepseek-v3
topology: {name: dgx-h100, nodes: 64}
source:
  engine: megatron
  gpus: 256
  parallel: {tp: 1, pp: 16, ep: 16, etp: 1, cp: 1}
  pp_layout: {first: 3, last: 2}
destination: {engine: vllm, gpus: 256, parallel: {tp: 32}}
)",
                                "deepseek.yaml", "");
  const PlanningInput input = prepare(job);
  EXPECT_NEAR(busiest_nic_s(job, input, 0), 0.9247 / 0.95, 0.002 * 0.9247);
  EXPECT_LE(busiest_nic_s(job, input, kRelayUse), 0.8426 / 0.95 * 1.001);
  EXPECT_LE(busiest_nic_s(job, input, kRelayUseInGroups), 0.8426 / 0.95 * 1.001);
}

}  // namespace
}  // namespace transload
