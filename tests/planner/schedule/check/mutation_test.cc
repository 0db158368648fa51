#include <gtest/gtest.h>

#include <map>

#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/schedule/plan_validate.h"
#include "tests/planner/schedule/check/expect_violation.h"
#include "tests/testing/mutate.h"
#include "tests/testing/naive_run.h"
#include "tests/testing/random_plan.h"

// A mutant is refused, caught, or harmless: the checker is held against runs on real bytes.

namespace transload::testing {
namespace {

std::vector<std::pair<std::string, Plan>> plans() {
  return {{"direct", direct_plan()},   {"staged", staged_plan()},       {"grouped", grouped_plan()},
          {"fan-out", fan_out_plan()}, {"broadcast", broadcast_plan()}, {"shared", shared_plan()}};
}

TEST(Mutants, TheOriginalsRun) {
  std::mt19937_64 random(1);
  for (const auto& [name, plan] : plans())
    for (int i = 0; i < 20; ++i) EXPECT_EQ(run_naively(plan, random), "") << name;
}

TEST(Mutants, AreRefusedCaughtOrHarmless) {
  std::mt19937_64 random(20250101);
  std::map<std::string, int> counts;
  for (const auto& [name, plan] : plans()) {
    for (int i = 0; i < 600; ++i) {
      const std::optional<Mutation> mutation = mutate(plan, random);
      if (!mutation) continue;
      const Plan mutant = seal_plan(plan.header(), mutation->tables);
      try {
        validate_plan(mutant, "mutant");
      } catch (const InputError&) {
        ++counts["refused"];
        continue;
      }
      if (!check_plan(mutant).ok) {
        ++counts["caught"];
        continue;
      }
      ++counts["harmless"];
      for (int k = 0; k < 10; ++k)
        ASSERT_EQ(run_naively(mutant, random), "") << name << ": " << mutation->description;
    }
  }
  // The test means nothing unless every outcome occurs; most mutants must be caught.
  EXPECT_GT(counts["caught"], 600);
  EXPECT_GT(counts["harmless"], 5);
}

TEST(Mutants, OfRandomPlans) {
  std::mt19937_64 random(11);
  int caught = 0;
  std::map<std::string, int> caught_by_kind;  // by the first word of the mutation
  for (int i = 0; i < 600; ++i) {
    const Plan plan = random_plan(random);
    expect_right(plan);
    ASSERT_EQ(run_naively(plan, random), "");
    for (int k = 0; k < 8; ++k) {
      const std::optional<Mutation> mutation = mutate(plan, random);
      if (!mutation) continue;
      const Plan mutant = seal_plan(plan.header(), mutation->tables);
      try {
        validate_plan(mutant, "mutant");
      } catch (const InputError&) {
        continue;
      }
      if (!check_plan(mutant).ok) {
        ++caught;
        const std::string& what = mutation->description;
        ++caught_by_kind[what.substr(0, what.find(' '))];
        continue;
      }
      for (int run = 0; run < 3; ++run)
        ASSERT_EQ(run_naively(mutant, random), "") << "plan " << i << ": " << mutation->description;
    }
  }
  EXPECT_GT(caught, 500);
  EXPECT_GT(caught_by_kind["shard"], 30);                             // moved in a buffer
  EXPECT_GT(caught_by_kind["offset"] + caught_by_kind["bytes"], 10);  // of a fill
  EXPECT_GT(caught_by_kind["tensor"], 3);                             // another name
}

TEST(Mutants, EveryEdgeIsNeededOrTheRunsAreRight) {
  std::mt19937_64 random(3);
  int caught = 0;
  for (const auto& [name, plan] : plans()) {
    for (OpId op = 0; op < plan.operations(); ++op) {
      for (const bool stream : {false, true}) {
        for (const OpId before : stream ? op_stream(plan, op) : op_after(plan, op)) {
          const Plan mutant = edit(plan, [&, o = op](PlanTables& t) {
            erase_edge(stream ? t.op_stream_first : t.op_after_first,
                       stream ? t.op_stream : t.op_after, o, before);
          });
          if (!check_plan(mutant).ok) {
            ++caught;
            continue;
          }
          for (int k = 0; k < 50; ++k)
            ASSERT_EQ(run_naively(mutant, random), "") << name << ": " << op << " after " << before;
        }
      }
    }
  }
  // direct 0; staged and grouped 12 each (2 per chunk, 2 more for each of two chunks); fan-out 3;
  // broadcast 4 in the first round, 4 + 4 waits in the second; shared 2: every one is needed.
  EXPECT_EQ(caught, 12 + 12 + 3 + 12 + 2);
}

// The converse: what the checker refuses is refused for a reason. Of the mutants that are caught,
// most also fail when run in a few random orders.
TEST(Mutants, WhatIsCaughtMostlyFailsWhenRun) {
  std::mt19937_64 random(7);
  int caught = 0;
  int failing = 0;
  for (const auto& [name, plan] : plans()) {
    for (int i = 0; i < 400; ++i) {
      const std::optional<Mutation> mutation = mutate(plan, random);
      // Keys alone change no run: their order is a rule of form.
      if (!mutation || mutation->description.starts_with("keys")) continue;
      const Plan mutant = seal_plan(plan.header(), mutation->tables);
      try {
        validate_plan(mutant, "mutant");
      } catch (const InputError&) {
        continue;
      }
      if (check_plan(mutant).ok) continue;
      ++caught;
      for (int k = 0; k < 20; ++k) {
        if (run_naively(mutant, random).empty()) continue;
        ++failing;
        break;
      }
    }
  }
  EXPECT_GT(failing * 10, caught * 8) << failing << " of " << caught;
}

}  // namespace
}  // namespace transload::testing
