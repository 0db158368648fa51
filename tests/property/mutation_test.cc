// Damaged plans: every random mutation of a real plan, re-sealed with a fresh digest, is refused
// when it is opened, caught by the checker, or shown harmless by running it with every byte
// compared.

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <memory>
#include <random>

#include "common/error.h"
#include "executor/run.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"
#include "tests/planner/strategy/m2n/m2n_jobs.h"
#include "tests/testing/mutate.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

enum class Fate { kRefused, kCaught, kHarmless, kHarmful };

Plan reopen(const Plan& sealed) {
  auto copy =
      std::make_shared<std::vector<std::byte>>(sealed.image().begin(), sealed.image().end());
  const std::span<const std::byte> image(*copy);
  return plan_from_image(copy, image, "mutant");
}

Fate fate_of(const Plan& plan, const testing::Mutation& mutation, std::string& why) {
  try {
    const Plan mutant = reopen(seal_plan(plan.header(), mutation.tables));
    if (!check_plan(mutant).ok) return Fate::kCaught;
    RunOptions options;
    options.verify = true;
    options.threads = 2;
    options.stall_s = 2;
    const RunResult result = run_on_host(mutant, options);
    if (result.mismatched_bytes == 0) return Fate::kHarmless;
    why = result.mismatches.empty() ? "mismatch" : result.mismatches[0];
  } catch (const InputError& error) {
    why = error.what();
    return Fate::kRefused;
  } catch (const RunFailure& error) {
    why = error.what();
  }
  return Fate::kHarmful;
}

// A strategy and a job that it may do.
struct Subject {
  std::string text;
  StrategyChoice strategy;
};

Subject any_strategy(std::mt19937_64& random) {
  Subject subject;
  subject.text = testing::random_job(random);
  const auto all = static_cast<std::int64_t>(strategies().size());
  subject.strategy.name =
      strategies()[static_cast<std::size_t>(testing::pick(random, 0, all - 1))].name;
  subject.strategy.bucket_bytes = testing::pick(random, 20, 300);
  return subject;
}

// m2n refuses most random jobs.
Subject m2n(std::mt19937_64& random) {
  Subject subject;
  subject.text = testing::random_m2n_job(random);
  subject.strategy.name = "m2n";
  return subject;
}

void mutate_plans(int wanted, std::uint64_t first_seed, Subject (*subject_of)(std::mt19937_64&)) {
  std::map<Fate, int> count;
  int tried = 0;
  for (std::uint64_t seed = first_seed; tried < wanted; ++seed) {
    std::mt19937_64 random(seed);
    const auto [text, strategy] = subject_of(random);
    const Job job = job_from_text(text, "random.yaml", "");
    const PlanningInput input = prepare(job);
    if (!refusals(job, input, strategy).empty()) continue;
    const Discipline discipline =
        testing::pick(random, 0, 1) == 0 ? Discipline::kWindows : Discipline::kGroups;
    const Plan plan = make_plan(job, input, strategy, discipline);
    for (int i = 0; i < 10 && tried < wanted; ++i) {
      const auto mutation = testing::mutate(plan, random);
      if (!mutation) continue;
      ++tried;
      std::string why;
      const Fate fate = fate_of(plan, *mutation, why);
      ++count[fate];
      ASSERT_NE(fate, Fate::kHarmful)
          << "seed " << seed << ", " << strategy.name << ", " << name_of(discipline) << ", "
          << mutation->description << ": passed the checker and then: " << why << "\n"
          << text;
    }
  }
  std::cout << "mutants: " << tried << ", refused " << count[Fate::kRefused] << ", caught "
            << count[Fate::kCaught] << ", harmless " << count[Fate::kHarmless] << "\n";
  // A checker that refuses everything would pass too; some mutations (equal slices, idle slots) are
  // harmless.
  EXPECT_GT(count[Fate::kCaught], tried / 3);
}

TEST(Mutation, TwoThousandMutantsAreCaughtOrHarmless) { mutate_plans(2000, 1, any_strategy); }

TEST(FullMutation, TwentyThousandMutantsAreCaughtOrHarmless) {
  mutate_plans(20'000, 100'000, any_strategy);
}

TEST(Mutation, OneThousandMutantsOfM2nAreCaughtOrHarmless) { mutate_plans(1000, 50'000, m2n); }

}  // namespace
}  // namespace transload
