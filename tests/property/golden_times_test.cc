// Times that anybody can compute by hand, through the whole product: job text, plan, simulation.

#include <gtest/gtest.h>

#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"

namespace transload {
namespace {

constexpr const char* kNodes =
    "topology: {efficiency: 1, latency: 0, nodes: [{count: 3, gpus: 1, nic: 50GB/s}]}\ntensors:\n";

// 50 GB, whole, from one rank to another.
std::string whole(const std::string& name, int from, int to) {
  return "  - {name: " + name +
         ", shape: [50000000000], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: " +
         std::to_string(from) +
         "}, destination: {mesh: {y: 1}, placements: [R], ranks: " + std::to_string(to) + "}}\n";
}

double simulated(const std::string& tensors, Discipline discipline) {
  const Job job = job_from_text(kNodes + tensors, "job.yaml", "");
  SimulateOptions exact;
  exact.exact = true;
  return simulate(make_plan(job, prepare(job), job.strategy, discipline), exact).refit_s;
}

TEST(GoldenTimes, FiftyGigabytesOverFiftyGigabytesPerSecondTakeOneSecond) {
  EXPECT_NEAR(simulated(whole("a", 0, 1), Discipline::kWindows), 1.0, 1e-6);
  EXPECT_NEAR(simulated(whole("a", 0, 1), Discipline::kGroups), 1.0, 1e-6);
}

TEST(GoldenTimes, TwoIntoOnePortTakeTwoSeconds) {
  EXPECT_NEAR(simulated(whole("a", 0, 2) + whole("b", 1, 2), Discipline::kWindows), 2.0, 1e-6);
  EXPECT_NEAR(simulated(whole("a", 0, 2) + whole("b", 1, 2), Discipline::kGroups), 2.0, 1e-6);
}

TEST(GoldenTimes, ADuplexPairTakesOneSecond) {
  EXPECT_NEAR(simulated(whole("a", 0, 1) + whole("b", 1, 0), Discipline::kWindows), 1.0, 1e-6);
  EXPECT_NEAR(simulated(whole("a", 0, 1) + whole("b", 1, 0), Discipline::kGroups), 1.0, 1e-6);
}

}  // namespace
}  // namespace transload
