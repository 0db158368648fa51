// Plans of random jobs, by every strategy and under both disciplines: both engines of the replay
// against an independent simulator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "common/error.h"
#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"
#include "tests/simulator/fluid_oracle.h"
#include "tests/testing/long_job.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

constexpr std::size_t kMostOperations = 400;  // the oracle takes the square of it

void expect_same_times(const Plan& plan) {
  const std::vector<double> expected = FluidOracle(plan).run();
  for (const ReplayEngine engine : {ReplayEngine::kSimGrid, ReplayEngine::kMaxMin}) {
    SCOPED_TRACE(name_of(engine));
    const SimulationResult result = simulate(plan, {.exact = true, .engine = engine});
    const double makespan = *std::max_element(expected.begin(), expected.end());
    EXPECT_NEAR(result.refit_s, makespan, 1e-6 * makespan);
  }
}

// Compares until `wanted` plans have been; odd little jobs and long ones take turns.
void compare_plans(int wanted, std::uint64_t first_seed) {
  int compared = 0;
  std::uint64_t seed = first_seed;
  const testing::LongJobLimits small = {
      .max_ranks = 8, .min_bytes = std::int64_t{1} << 22, .max_bytes = std::int64_t{1} << 27};
  for (; compared < wanted && seed < first_seed + 1000; ++seed) {
    std::mt19937_64 random(seed);
    const std::string text =
        seed % 2 == 0 ? testing::random_job(random) : testing::long_job(random, small);
    const Job job = job_from_text(text, "random.yaml", "");
    const PlanningInput input = prepare(job);
    for (const StrategyInfo& info : strategies())
      for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
        SCOPED_TRACE(fmt::format("seed {}, {}, {}", seed, info.name, name_of(discipline)));
        Plan plan;
        try {
          plan = make_plan(job, input,
                           {.name = std::string(info.name), .bucket_bytes = {}, .mode = {}},
                           discipline);
        } catch (const UnsupportedError&) {
          continue;
        } catch (const InputError&) {
          continue;
        }
        if (plan.operations() == 0 || plan.operations() > kMostOperations) continue;
        expect_same_times(plan);
        ++compared;
      }
  }
  EXPECT_GE(compared, wanted);
}

TEST(ReplayOracle, EnginesAgreeOnPlansOfRandomJobs) { compare_plans(100, 1); }
TEST(FullReplayOracle, EnginesAgreeOnPlansOfRandomJobs) { compare_plans(1000, 20'000); }

}  // namespace
}  // namespace transload
