#include "planner/strategy/route_trees.h"

#include <gtest/gtest.h>

#include <map>

#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "tests/testing/route_plan.h"

namespace transload {
namespace {

// One trainer (rank 0), a domain of two (1, 2) and a domain of two (3, 4); ranks 1, 3 and 4 want
// all 4096 bytes, rank 2 wants a byte of its own so that it takes part.
const char* const kTwoDomains = R"(
topology:
  efficiency: 1
  latency: 0
  nodes: [{gpus: 1, nic: 1kB/s}, {count: 2, gpus: 2, nic: 1kB/s, nvlink: 9kB/s}]
tensors:
  - {name: w, shape: [4096], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 3}, placements: [R], ranks: [1, 3, 4]}}
  - {name: v, shape: [1], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: 0},
     destination: {mesh: {y: 1}, placements: [R], ranks: 2}}
)";

Plan plan_of(Discipline discipline, std::int64_t chunk) {
  const Job job = job_from_text(kTwoDomains, "job.yaml", "");
  EmitOptions options;
  options.discipline = discipline;
  options.window = 2;
  options.colours = 2;
  options.chunk_bytes = chunk;
  return testing::plan_of_routes(
      job, options, [](const ReshardProblem& problem, const Demand& demand, const Fabric& fabric) {
        RouteSet set;
        const PortLoads loads(fabric);
        const auto add = [&](std::uint32_t c, std::int64_t begin, std::int64_t end, Rank from,
                             Rank to, std::uint32_t parent, bool wanted) {
          const PortPair ports = choose_ports(fabric, loads, from, to);
          set.routes.push_back(
              {c, begin, end, from, to, ports.out, ports.in, 0, 0, parent, wanted});
          return static_cast<std::uint32_t>(set.routes.size() - 1);
        };
        for (std::uint32_t c = 0; c < demand.classes.size(); ++c) {
          if (problem.sets.of(demand.classes[c].receivers).size() == 1) {
            add(c, 0, 1, 0, 2, kNoRoute, true);
            continue;
          }
          // The helper 2 lands everything, hands it to 1, and relays the second half to 3; the
          // first half goes from 1 to 4. What is missing, 3 and 4 exchange over NVLink.
          const std::uint32_t helper = add(c, 0, 4096, 0, 2, kNoRoute, false);
          const std::uint32_t one = add(c, 0, 4096, 2, 1, helper, true);
          const std::uint32_t three = add(c, 2048, 4096, 2, 3, helper, true);
          const std::uint32_t four = add(c, 0, 2048, 1, 4, one, true);
          add(c, 2048, 4096, 3, 4, three, true);
          add(c, 0, 2048, 4, 3, four, true);
        }
        return set;
      });
}

TEST(RouteTree, ForwardsGoThroughHelpersAndOverBothKindsOfLink) {
  for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
    const Plan plan = plan_of(discipline, 512);
    const CheckReport report = check_plan(plan);
    EXPECT_TRUE(report.ok) << report.violations[0].text;
    // 8 chunks of 512 bytes leave the holder; 8 go 2 -> 1 and 4 go 2 -> 3 out of a rank that does
    // not want them; 4 go 1 -> 4 over the network; 8 stay inside the second domain.
    std::map<OpRole, int> count;
    for (OpId op = 0; op < plan.operations(); ++op) ++count[op_role(plan, op)];
    EXPECT_EQ(count[OpRole::kInject], 8 + 1);
    EXPECT_EQ(count[OpRole::kRelay], 8 + 4);
    EXPECT_EQ(count[OpRole::kForward], 4);
    EXPECT_EQ(count[OpRole::kFanOut], 8);
    EXPECT_EQ(plan_totals(plan).network_bytes, 4096u + 1u + 2048u + 2048u);
    EXPECT_EQ(plan_totals(plan).nvlink_bytes, 4096u + 2048u + 2048u);
    // The helper holds chunks in relay slots only.
    const std::size_t relay = 2 * kSlotClasses + static_cast<std::size_t>(SlotClass::kRelay);
    EXPECT_GT(plan.staging_slots[relay], 0u);
    EXPECT_EQ(plan.staging_slots[2 * kSlotClasses + static_cast<std::size_t>(SlotClass::kLand)],
              0u);
  }
}

TEST(RouteTree, ForwardsAreIssuedAfterTheGroupOfTheirLanding) {
  const Plan plan = plan_of(Discipline::kGroups, 512);
  for (OpId op = 0; op < plan.operations(); ++op)
    for (OpId before : op_after(plan, op))
      if (op_kind(plan, op) == OpKind::kTransfer && op_kind(plan, before) == OpKind::kTransfer) {
        EXPECT_LT(plan.op_group[before], plan.op_group[op]);
      }
}

TEST(RouteTree, AChunkNeverStraddlesTheRangeOfAForward) {
  // Chunks of 3000 bytes would cross byte 2048, where forwards begin and end.
  const Plan plan = plan_of(Discipline::kWindows, 3000);
  EXPECT_TRUE(check_plan(plan).ok);
  for (OpId op = 0; op < plan.operations(); ++op)
    if (plan.op_bytes[op] > 1) {
      EXPECT_EQ(plan.op_bytes[op], 2048u);
    }
}

}  // namespace
}  // namespace transload
