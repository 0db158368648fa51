// Kimi-K2 at one byte a parameter, whose best times are known by hand: 384 experts in each of 60
// layers, three matrices of 7168 x 2048 an expert, and what is no expert. Ports at nominal rates,
// eight NICs of 50 GB/s a domain. tests/property/theory9_test.cc simulates them.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/units.h"
#include "planner/schedule/builder.h"
#include "planner/strategy/fabric.h"
#include "planner/strategy/helper_ranks.h"
#include "planner/strategy/strategy.h"
#include "planner/strategy/transload/assign.h"
#include "tests/testing/theory9.h"

namespace transload {
namespace {

using testing::theory9_folder;

constexpr std::int64_t kExpertBytes = std::int64_t{3} * 7168 * 2048;
constexpr std::int64_t kAllExperts = 60 * 384 * kExpertBytes;
// The parameters that the library counts, and three bytes more for each router bias (fp32).
constexpr std::int64_t kAll = 1'026'408'232'448 + std::int64_t{3} * 60 * 384;
constexpr std::int64_t kRest = kAll - kAllExperts;

double seconds_over(std::int64_t bytes, std::int64_t nics) {
  return static_cast<double>(bytes) / (static_cast<double>(nics) * 50e9);
}

StrategyChoice named(const char* name) {
  StrategyChoice choice;
  choice.name = name;
  return choice;
}

const Bound& bound_named(const BoundReport& report, const std::string& name) {
  for (const Bound& bound : report.bounds)
    if (bound.name == name) return bound;
  throw std::runtime_error("no bound " + name);
}

// The most loaded port of an assignment, bytes.
std::int64_t most_loaded(const Fabric& fabric, const RouteSet& set) {
  std::vector<std::int64_t> bytes(fabric.port_rate.size(), 0);
  for (const Route& route : set.routes) {
    bytes[static_cast<std::size_t>(route.out_port)] += route.end - route.begin;
    bytes[static_cast<std::size_t>(route.in_port)] += route.end - route.begin;
  }
  return *std::max_element(bytes.begin(), bytes.end());
}

// What `transload` assigns where no domain may hand on to another.
std::int64_t most_loaded_without_relays(const Job& job, const PlanningInput& input) {
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem, helper_ranks(job));
  TransloadOptions options{may_help(job), input.bounds.bound_ps};
  options.relay_use = 0;
  return most_loaded(fabric, assign_balanced(job.problem, input.demand, fabric, options));
}

// Megatron pp8 ep32 to ep128: three experts a layer on a GPU, the rest on every one.
TEST(KimiK2Examples, E_ExpertParallelReachesTheBoundAndACopyPerGpuTakesTwice) {
  const Job job = load_job(theory9_folder() + "01-pp8-ep32-to-ep128.yaml");
  const PlanningInput input = prepare(job);
  const std::int64_t domain = kAllExperts / 16 + kRest;  // 75.1 GB
  EXPECT_NEAR(to_seconds(input.bounds.bound_ps), seconds_over(domain, 8), 1e-11);
  EXPECT_NEAR(to_seconds(input.bounds.bound_ps), 0.1878, 0.0001);
  EXPECT_EQ(input.bounds.binding, "domain_in");
  const double ours =
      ideal_seconds(make_plan(job, input, named("transload"), Discipline::kWindows));
  EXPECT_NEAR(ours, seconds_over(domain, 8), 1e-3 * ours);
  const double p2p = ideal_seconds(make_plan(job, input, named("p2p"), Discipline::kWindows));
  EXPECT_NEAR(p2p, seconds_over(kAllExperts / 128 + kRest, 1), 1e-9);
  EXPECT_NEAR(p2p, 0.393, 0.0001);
}

// 32 trainers to 16 engines of tp8: everything enters each of 16 domains once, and either leaves
// the trainers' 32 NICs once for each, or is handed on between the domains.
TEST(KimiK2Examples, F_DirectCopiesWouldTakeFourTimesTheBound) {
  const Job job = load_job(theory9_folder() + "10-fsdp32-to-16xtp8.yaml");
  const PlanningInput input = prepare(job);
  const BoundReport& bounds = input.bounds;
  EXPECT_NEAR(to_seconds(bounds.bound_ps), seconds_over(kAll, 8), 1e-11);
  EXPECT_NEAR(to_seconds(bounds.bound_ps), 2.566, 0.0005);
  const Bound& direct = bound_named(bounds, "src_copies");
  EXPECT_TRUE(direct.conditional);
  EXPECT_NEAR(to_seconds(direct.ps), seconds_over(16 * kAll, 32), 1e-10);
  EXPECT_NEAR(to_seconds(direct.ps), 10.26, 0.005);
  const double planned_s = seconds_over(most_loaded_without_relays(job, input), 1);
  EXPECT_NEAR(planned_s, to_seconds(direct.ps), 1e-3 * planned_s);
}

}  // namespace
}  // namespace transload
