// A job for some of its destinations.
#include "planner/job/restrict.h"

#include <gmock/gmock.h>

#include "planner/demand/demand.h"
#include "planner/schedule/access.h"
#include "planner/strategy/strategy.h"

namespace transload {
namespace {

using testing::ElementsAre;

// Rows over ranks 0 and 1 to two replicas of columns: ranks 2-3 and 4-5. A second tensor has one
// layout on both sides.
Job two_replicas() {
  return job_from_text(
      "topology: {nodes: [{count: 3, gpus: 2, nic: 50GB/s, nvlink: 450GB/s}]}\n"
      "tensors:\n"
      "  - {name: w, shape: [8, 8], dtype: fp32, source: {mesh: {x: 2}, placements: [S(0)], ranks: "
      "0-1}, destination: {mesh: {r: 2, y: 2}, placements: [R, S(1)], ranks: 2-5}}\n"
      "  - {name: v, shape: [8], dtype: fp32, source: {mesh: {x: 2}, placements: [S(0)], ranks: "
      "0-1}, destination: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1}}\n",
      "job.yaml", "");
}

std::int64_t received_bytes(const Job& job) {
  const Demand demand = make_demand(job.problem);
  std::int64_t bytes = 0;
  for (const DemandClass& each : demand.classes)
    bytes += each.bytes * static_cast<std::int64_t>(job.problem.sets.of(each.receivers).size());
  return bytes;
}

TEST(Restrict, OnlyTheGivenRanksReceive) {
  const std::vector<Rank> ranks = {4, 5};
  const Job wave = only_destinations(two_replicas(), ranks);
  EXPECT_THAT(wave.problem.destination_ranks, ElementsAre(4, 5));
  EXPECT_THAT(wave.problem.source_ranks, ElementsAre(0, 1));
  EXPECT_EQ(received_bytes(two_replicas()), 2 * 256 + 32);
  EXPECT_EQ(received_bytes(wave), 256);
}

TEST(Restrict, AllRanksAreTheJobItself) {
  const std::vector<Rank> all = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(to_string(make_plan(only_destinations(two_replicas(), all)).digest()),
            to_string(make_plan(two_replicas()).digest()));
}

TEST(Restrict, AWaveIsPlannedLikeAJobOfItsOwn) {
  const std::vector<Rank> ranks = {2, 3};
  const Plan plan = make_plan(only_destinations(two_replicas(), ranks));
  for (OpId op = 0; op < plan.operations(); ++op) EXPECT_LT(plan.op_destination[op], 4);
  EXPECT_EQ(plan_totals(plan).payload_bytes, 256u);
}

}  // namespace
}  // namespace transload
