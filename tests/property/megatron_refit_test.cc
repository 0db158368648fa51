// The jobs of examples/megatron, on which Megatron's own planner was measured, planned by
// `transload`: simulated, they come within 2 % of what no schedule can beat.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "common/units.h"
#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"

namespace transload {
namespace {

class FullMegatronRefit : public ::testing::TestWithParam<const char*> {};

TEST_P(FullMegatronRefit, IsWithinTwoPercentOfTheBound) {
  const Job job =
      load_job(std::string(TRANSLOAD_SOURCE_DIR) + "/examples/megatron/" + GetParam() + ".yaml");
  const PlanningInput input = prepare(job);
  const Plan plan = make_plan(job, input, StrategyChoice{}, Discipline::kWindows);
  const double ratio = simulate(plan).refit_s / to_seconds(input.bounds.bound_ps);
  fmt::print("{}: {:.4f} x bound ({})\n", GetParam(), ratio, input.bounds.binding);
  EXPECT_LE(ratio, 1.02);
  EXPECT_GE(ratio, 0.999);
}

const auto name_of_param = [](const auto& example) {
  std::string name = example.param;
  std::erase(name, '-');
  return name;
};
INSTANTIATE_TEST_SUITE_P(Full, FullMegatronRefit,
                         ::testing::Values("qwen3-30b-64-tp8", "qwen3-30b-64-tp2-tp8",
                                           "qwen3-30b-256-tp8", "deepseek-v3-64-tp8",
                                           "deepseek-v3-64-ep64", "deepseek-v3-256-tp8",
                                           "deepseek-v3-256-tp2-tp8", "deepseek-v3-256-ep128"),
                         name_of_param);

}  // namespace
}  // namespace transload
