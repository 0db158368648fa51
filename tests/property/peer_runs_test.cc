// Random jobs between several processes over TCP: planned by the strategies in turn under both
// disciplines, every byte compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "planner/strategy/strategy.h"
#include "tests/testing/peers/run_over_tcp.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

constexpr std::size_t kStrategiesPerJob = 3;

std::int32_t participants(const Plan& plan) {
  std::int32_t count = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (takes_part(plan, static_cast<std::int32_t>(rank))) ++count;
  return count;
}

void run_among_processes(const Plan& plan, std::int32_t processes) {
  testing::TcpRun run;
  run.processes = std::min(processes, participants(plan));
  if (run.processes == 0) return;
  run.options = {.verify = true, .threads = 1};
  EXPECT_EQ(testing::first_problem(testing::run_over_tcp(plan, run)), "");
}

// transload and others in turn, those that do not refuse the job.
std::vector<StrategyChoice> choices(const Job& job, const PlanningInput& input, std::size_t turn) {
  std::vector<StrategyChoice> chosen;
  const auto all = strategies();
  for (std::size_t i = 0; i < all.size() && chosen.size() < kStrategiesPerJob; ++i) {
    StrategyChoice choice;
    choice.name = chosen.empty() ? "transload" : all[(turn + i) % all.size()].name;
    if (!chosen.empty() && choice.name == "transload") continue;
    choice.bucket_bytes = 200;
    if (refusals(job, input, choice).empty()) chosen.push_back(choice);
  }
  return chosen;
}

void run_jobs(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    const std::string text = testing::random_job(random);
    const Job job = job_from_text(text, "random.yaml", "");
    const PlanningInput input = prepare(job);
    const auto processes = static_cast<std::int32_t>(testing::pick(random, 4, 8));
    for (const StrategyChoice& choice : choices(job, input, seed))
      for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
        SCOPED_TRACE(choice.name + ", " + std::string(name_of(discipline)) + ", seed " +
                     std::to_string(seed) + ", " + std::to_string(processes) + " processes\n" +
                     text);
        run_among_processes(make_plan(job, input, choice, discipline), processes);
        if (::testing::Test::HasFailure()) return;
      }
  }
}

TEST(PeerRuns, RandomJobsAreMovedExactly) { run_jobs(300, 30); }

TEST(FullPeerRuns, ThreeHundredRandomJobsAreMovedExactly) { run_jobs(70'000, 300); }

}  // namespace
}  // namespace transload
