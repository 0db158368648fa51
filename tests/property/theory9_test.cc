// Kimi-K2 from ten trainer layouts to inference layouts: port loads that theory gives to four
// digits, and what the simulator makes of the same layouts on real machines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/units.h"
#include "planner/schedule/access.h"
#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"
#include "tests/testing/theory9.h"

namespace transload {
namespace {

using testing::theory9_folder;
using testing::theory9_on_library;
using testing::theory9_rows;
using testing::Theory9Row;

StrategyChoice named(const char* name) {
  StrategyChoice choice;
  choice.name = name;
  return choice;
}

// Row 10 counts one copy per domain (KimiK2Examples holds that figure against `src_copies`). p2p
// sends one to each of 128 GPUs, whose parts are what p2p lands in row 8, out of 32 NICs.
constexpr double kRow10CopyPerGpu = 2.58509080576 * 128 / 32;

void expect_loads_of_theory(const Theory9Row& row) {
  SCOPED_TRACE(row.job);
  const Job job = load_job(theory9_folder() + row.job + ".yaml");
  const PlanningInput input = prepare(job);
  const double bound_s = to_seconds(input.bounds.bound_ps);
  EXPECT_EQ(input.bounds.binding, "domain_in");
  EXPECT_NEAR(bound_s, row.bound_s, 1e-3 * row.bound_s);
  const double ours =
      ideal_seconds(make_plan(job, input, named("transload"), Discipline::kWindows));
  EXPECT_NEAR(ours, row.bound_s, 1e-3 * row.bound_s);
  EXPECT_GE(ours, bound_s * (1 - 1e-12));
  const double p2p = ideal_seconds(make_plan(job, input, named("p2p"), Discipline::kWindows));
  const double wanted = row.job.starts_with("10") ? kRow10CopyPerGpu : row.p2p_s;
  EXPECT_NEAR(p2p, wanted, 1e-3 * wanted);
}

// Source-bound: example F of the project's theory.
constexpr const char* kSourceBound = "10-fsdp32-to-16xtp8";

// Ours under one discipline over the layout's own bound.
double over_bound(const std::string& job_name, Discipline discipline) {
  const Job job = job_from_text(theory9_on_library(job_name), job_name + ".yaml", "");
  const PlanningInput input = prepare(job);
  const Plan plan = make_plan(job, input, named("transload"), discipline);
  const double ratio = simulate(plan).refit_s / to_seconds(input.bounds.bound_ps);
  fmt::print("{} {}: {:.4f} x bound\n", job_name, name_of(discipline), ratio);
  return ratio;
}

TEST(Theory9, FirstLayoutHasThePortLoadsOfTheory) {
  const std::vector<Theory9Row> rows = theory9_rows();
  ASSERT_EQ(rows.size(), 10u);
  expect_loads_of_theory(rows[0]);
}

TEST(FullTheory9, PortLoadsAreThoseOfTheory) {
  for (const Theory9Row& row : theory9_rows()) expect_loads_of_theory(row);
}

TEST(FullTheory9, SimulatedOnLibraryMachinesComesNearTheBound) {
  for (const Theory9Row& row : theory9_rows()) {
    EXPECT_LE(over_bound(row.job, Discipline::kWindows), 1.02) << row.job;
    EXPECT_LE(over_bound(row.job, Discipline::kGroups), 1.08) << row.job;
  }
}

bool fits(const std::string& job_name, const std::string& machine) {
  const Job job = job_from_text(theory9_on_library(job_name, machine), job_name + ".yaml", "");
  const Plan plan = make_plan(job, prepare(job), named("transload"), Discipline::kWindows);
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    const auto r = static_cast<std::int32_t>(rank);
    EXPECT_GT(plan.rank_memory_bytes[rank], 0u);
    if (takes_part(plan, r) && rank_peak_bytes(plan, r) > plan.rank_memory_bytes[rank])
      return false;
  }
  return true;
}

// 129 GB of weights on every engine GPU.
TEST(FullTheory9, EnginesOfTp8NeedAnH200) {
  for (const Theory9Row& row : theory9_rows()) {
    const bool tp8 = row.job.ends_with("16xtp8");
    EXPECT_EQ(fits(row.job, "dgx-h100"), !tp8) << row.job;
    if (tp8) {
      EXPECT_TRUE(fits(row.job, "hgx-h200")) << row.job;
    }
  }
}

TEST(FullTheory9, RelaysBringASourceBoundJobWithinThreePercentOfTheBound) {
  const Job job = load_job(theory9_folder() + kSourceBound + ".yaml");
  const PlanningInput input = prepare(job);
  const Plan plan = make_plan(job, input, named("transload"), Discipline::kWindows);
  EXPECT_LE(simulate(plan).refit_s, 1.03 * to_seconds(input.bounds.bound_ps));
}

}  // namespace
}  // namespace transload
