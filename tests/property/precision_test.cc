// The simulator's stated precision: on a job of 64 ranks the coarse replay is within half a percent
// of the exact one under either discipline, for plans of every shape: routes with and without
// fan-out, and lowered collectives.

#include <gtest/gtest.h>

#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"

namespace transload {
namespace {

constexpr const char* kDeepSeek64 = R"(
model: deepseek-v3
topology: {name: dgx-h100, nodes: 8}
source: {engine: megatron, gpus: 32, parallel: {pp: 4, ep: 8}, pp_layout: {first: 16, last: 15}}
destination: {engine: vllm, gpus: 32, parallel: {tp: 16}}
)";

TEST(Precision, CoarseReplayIsWithinHalfAPercentOfTheExactOne) {
  const Job job = job_from_text(kDeepSeek64, "deepseek-64.yaml", "");
  const PlanningInput input = prepare(job);
  for (const char* name : {"transload", "p2p", "gather-broadcast"})
    for (Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      StrategyChoice strategy;
      strategy.name = name;
      const Plan plan = make_plan(job, input, strategy, discipline);
      SimulateOptions exact;
      exact.exact = true;
      const double wanted = simulate(plan, exact).refit_s;
      const SimulationResult coarse = simulate(plan);
      EXPECT_NEAR(coarse.refit_s, wanted, 0.005 * wanted) << name << " " << name_of(discipline);
      EXPECT_GT(coarse.precision_s, 0);
      EXPECT_GE(wanted, 0.999 * ideal_seconds(plan)) << "nothing beats its most loaded port";
    }
}

}  // namespace
}  // namespace transload
