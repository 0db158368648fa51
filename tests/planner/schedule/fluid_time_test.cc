// Hand-made plans whose times are known. tests/property/estimate_test.cc holds the clock against
// the simulator on whole jobs.
#include "planner/schedule/fluid_time.h"

#include <gtest/gtest.h>

#include "common/units.h"
#include "planner/schedule/operation_times.h"
#include "tests/testing/hand_plans.h"

namespace transload {
namespace {

// 128 bytes at 1 GB/s.
TEST(FluidTime, OfOneTransferIsItsBytesAtTheRate) {
  EXPECT_EQ(fluid_time_ps(testing::direct_plan()), 128 * 1000);
}

// Four chunks of 64 bytes through two slots on either side. Two at a time: packed side by side (a
// copy reads and writes, so 2 x 128 ns), sent (2 x 64 ns), and when their slots are free the next
// two are packed while these are unpacked. Two rounds of 256 + 128 ns, and the last unpacking.
TEST(FluidTime, OfAPipelineIsItsRoundsAndTheWayOut) {
  EXPECT_EQ(fluid_time_ps(testing::staged_plan()), (2 * (256 + 128) + 256) * 1000);
}

TEST(FluidTime, LatencyAndLaunchAddUp) {
  const Plan plan = testing::edit(testing::direct_plan(), [](PlanTables& tables) {
    for (std::int64_t& latency : tables.port_latency_ps) latency = 5000;
    for (std::int64_t& occupancy : tables.port_occupancy_ps) occupancy = 700;
  });
  EXPECT_EQ(fluid_time_ps(plan), 700 + 5000 + 128 * 1000);
  EXPECT_EQ(latency_ps(plan, 0), 5000);
  EXPECT_EQ(lane_occupancy_ps(plan, 0, true), 700);
}

TEST(FluidTime, StopsAtTheLimit) { EXPECT_EQ(fluid_time_ps(testing::direct_plan(), 1000), 1000); }

TEST(FluidTime, AStalledPlanNeverEnds) {
  // An operation that waits for itself.
  const Plan plan = testing::edit(testing::staged_plan(), [](PlanTables& tables) {
    testing::insert_edge(tables.op_after_first, tables.op_after, 3, 3);
  });
  EXPECT_EQ(fluid_time_ps(plan), kNeverEnds);
}

// A broadcast of 256 bytes streams from rank 1 on to rank 2 while it lands there: one way of 256 ns
// and not two. Unpacking 128 bytes takes 256 ns; the second round waits for the one bucket slot.
TEST(FluidTime, StreamsOverlap) {
  const std::int64_t both = fluid_time_ps(testing::broadcast_plan());
  const std::int64_t round = (256 + 256 + 256) * 1000;  // pack reads and writes 256 at 1 GB/s: 512
  EXPECT_GT(both, round);
  EXPECT_LT(both, 2 * (512 + 256 + 256 + 256) * 1000);
}

}  // namespace
}  // namespace transload
