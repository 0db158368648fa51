// Random jobs through the whole product: planned by every strategy under both disciplines, proven
// by the checker, run on the host with every byte compared.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "executor/run.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

std::string describe(const CheckReport& report) {
  std::string text;
  for (const Violation& violation : report.violations)
    text += violation.invariant + ": " + violation.text + "\n";
  return text;
}

// Jobs that a strategy does not refuse, by its name and mode.
using Planned = std::map<std::string, int>;

// Every strategy, and the modes that are not its default.
std::vector<std::string> all_choices() {
  std::vector<std::string> names;
  for (const StrategyInfo& info : strategies())
    if (info.name != "m2n")  // m2n_property_test.cc has jobs that it does not refuse
      names.emplace_back(info.name);
  for (const char* mode : {"checkpoint-engine:p2p", "alpa:send-recv", "p2p:full-tensor"})
    names.emplace_back(mode);
  return names;
}

// Some tensors get names of feed-forward weights, which nemo-hybrid treats apart.
std::string with_model_names(std::string text) {
  const std::pair<const char*, const char*> names[] = {
      {"name: t0\n", "name: layers.0.mlp.gate_proj.weight\n"},
      {"name: t2\n", "name: layers.0.mlp.experts.0.up_proj.weight\n"},
      {"name: t3\n", "name: layers.0.mlp.experts.1.up_proj.weight\n"}};
  for (const auto& [from, to] : names)
    if (const std::size_t at = text.find(from); at != std::string::npos)
      text.replace(at, std::string(from).size(), to);
  return text;
}

void plan_check_run(const Job& job, const PlanningInput& input, const StrategyChoice& strategy) {
  for (Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
    SCOPED_TRACE(name_of(discipline));
    const Plan plan = make_plan(job, input, strategy, discipline);
    const CheckReport report = check_plan(plan);
    ASSERT_TRUE(report.ok) << describe(report);
    RunOptions options;
    options.verify = true;
    options.threads = 2;
    const RunResult result = run_on_host(plan, options);
    EXPECT_EQ(result.mismatched_bytes, 0u)
        << (result.mismatches.empty() ? "" : result.mismatches[0]);
    EXPECT_EQ(result.state, "new");
  }
}

// Every strategy on `count` random jobs; those that refuse many jobs go on until they have done
// `least` of them.
void run_jobs(int count, int least, int first_seed) {
  Planned planned;
  for (const std::string& name : all_choices()) planned[name] = 0;
  const auto wanting = [&] {
    return std::any_of(planned.begin(), planned.end(),
                       [&](const auto& entry) { return entry.second < least; });
  };
  for (int i = 0; i < count || (wanting() && i < 20 * count); ++i) {
    std::mt19937_64 random(static_cast<std::uint64_t>(first_seed + i));
    const std::string text = with_model_names(testing::random_job(random));
    const Job job = job_from_text(text, "random.yaml", "");
    const PlanningInput input = prepare(job);
    for (auto& [name, done] : planned) {
      StrategyChoice strategy = parse_strategy(YamlValue::from_text(name, "strategy"));
      strategy.bucket_bytes = testing::pick(random, 1, 300);
      if ((i >= count && done >= least) || !refusals(job, input, strategy).empty()) continue;
      ++done;
      SCOPED_TRACE(name + ", seed " + std::to_string(first_seed + i) + "\n" + text);
      plan_check_run(job, input, strategy);
      if (::testing::Test::HasFatalFailure() || ::testing::Test::HasNonfatalFailure()) return;
    }
  }
  for (const auto& [name, done] : planned) EXPECT_GE(done, least) << name << " refuses nearly all";
}

TEST(RefitProperty, TwoHundredRandomJobsAreMovedExactly) { run_jobs(200, 60, 1000); }

TEST(FullRefitProperty, TwoThousandRandomJobsAreMovedExactly) { run_jobs(2000, 300, 50'000); }

}  // namespace
}  // namespace transload
