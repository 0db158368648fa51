// Plans jobs and prints the digests of the plans: the same job has to give the same bytes of plan
// with every compiler and on every machine (tests/determinism/run compares).
//
//   plan_digests write FOLDER COUNT   random tensor jobs, one file each
//   plan_digests plan JOB...          "DIGEST DISCIPLINE STRATEGY JOB", a line per plan
//
// A tensor job is planned by every strategy that supports it, a whole-model job by its own one.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "common/error.h"
#include "planner/strategy/strategy.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

void write_jobs(const std::filesystem::path& folder, int count) {
  for (int seed = 1; seed <= count; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    std::ofstream(folder / fmt::format("random-{:02}.yaml", seed)) << testing::random_job(random);
  }
}

std::vector<StrategyChoice> choices_of(const Job& job) {
  if (job.model_parameters > 0) return {job.strategy};
  std::vector<StrategyChoice> choices;
  for (const StrategyInfo& info : strategies()) {
    StrategyChoice choice;
    choice.name = info.name;
    choices.push_back(choice);
  }
  return choices;
}

void plan_job(const std::string& path) {
  const Job job = load_job(path);
  const PlanningInput input = prepare(job);
  for (const StrategyChoice& choice : choices_of(job)) {
    if (!refusals(job, input, choice).empty()) continue;
    for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      const Plan plan = make_plan(job, input, choice, discipline);
      std::cout << fmt::format("{} {} {} {}\n", to_string(plan.digest()), name_of(discipline),
                               choice.name, std::filesystem::path(path).stem().string())
                << std::flush;
    }
  }
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[0] == "write") {
    write_jobs(words[1], std::stoi(words[2]));
    return 0;
  }
  if (words.size() < 2 || words[0] != "plan") {
    std::cerr << "usage: plan_digests write FOLDER COUNT | plan JOB...\n";
    return 2;
  }
  for (std::size_t i = 1; i < words.size(); ++i) plan_job(words[i]);
  return 0;
}

}  // namespace
}  // namespace transload

int main(int argc, char** argv) {
  try {
    return transload::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "plan_digests: " << error.what() << "\n";
    return 2;
  }
}
