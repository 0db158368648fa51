// Random jobs on fabrics that are not one wide switch: rail-only, oversubscribed, two sites. Every
// plan is right, its bytes arrive, nothing leaves its rail, and the most loaded port or link stays
// near the bound.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "executor/run.h"
#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

using testing::pick;

enum class FabricKind : std::uint8_t { kRails, kNarrow, kSites };

std::string side(std::mt19937_64& random, std::vector<int> ranks) {
  std::shuffle(ranks.begin(), ranks.end(), random);
  std::vector<int> divisors;
  const int count = static_cast<int>(ranks.size());
  for (int d = 1; d <= count; ++d)
    if (count % d == 0) divisors.push_back(d);
  const int outer =
      divisors[static_cast<std::size_t>(pick(random, 0, static_cast<int>(divisors.size()) - 1))];
  const auto placement = [&] {
    const std::int64_t choice = pick(random, 0, 2);
    return choice == 0 ? std::string("R") : fmt::format("S({})", choice - 1);
  };
  return fmt::format("{{mesh: {{a: {}, b: {}}}, placements: [{}, {}], ranks: [{}]}}", outer,
                     count / outer, placement(), placement(), fmt::join(ranks, ", "));
}

// `rows` and `columns`: extents of a tensor, at most.
std::string random_text(std::mt19937_64& random, FabricKind kind, std::int64_t rows,
                        std::int64_t columns, const std::string& latency) {
  const auto gpus = static_cast<int>(std::int64_t{1} << pick(random, 1, 2));
  const auto nodes = static_cast<int>(pick(random, 2, 6));
  const auto cut = static_cast<int>(pick(random, 1, nodes - 1));
  std::string text = fmt::format("topology:\n  efficiency: 1\n{}  nodes:\n", latency);
  const std::string node = fmt::format("gpus: {}, nvlink: 400GB/s, nic: 50GB/s", gpus);
  if (kind == FabricKind::kSites) {
    text += fmt::format("    - {{count: {}, {}, site: a}}\n    - {{count: {}, {}, site: b}}\n", cut,
                        node, nodes - cut, node);
    text += fmt::format("  links: [{{between: [a, b], rate: {}GB/s, latency: 0}}]\n",
                        pick(random, 5, 200));
  } else {
    text += fmt::format("    - {{count: {}, {}}}\n", nodes, node);
    if (kind == FabricKind::kRails)
      text += "  fabric: {kind: rail-only}\n";
    else
      text += fmt::format("  fabric: {{kind: {}, unit: {}, oversubscription: {}}}\n",
                          pick(random, 0, 1) == 0 ? "leaf-spine" : "rail-optimised",
                          pick(random, 1, 2), pick(random, 2, 4));
  }
  std::vector<int> all(static_cast<std::size_t>(nodes * gpus));
  std::iota(all.begin(), all.end(), 0);
  const bool colocated = pick(random, 0, 5) == 0;
  const auto border = all.begin() + static_cast<std::ptrdiff_t>(cut) * gpus;
  const std::vector<int> left(all.begin(), colocated ? all.end() : border);
  const std::vector<int> right(colocated ? all.begin() : border, all.end());
  text += "tensors:\n";
  for (std::int64_t t = pick(random, 1, 3); t > 0; --t)
    text += fmt::format(
        "  - {{name: t{}, shape: [{}, {}], dtype: uint8, source: {}, destination: {}}}\n", t,
        pick(random, rows / 4, rows), pick(random, columns / 4, columns), side(random, left),
        side(random, right));
  return text + "options: {helpers: domain}\n";
}

// Rank r of a node is on rail r: all nodes have equally many GPUs.
void expect_rails_kept(const Plan& plan) {
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) != OpKind::kTransfer) continue;
    const auto from = static_cast<std::size_t>(plan.op_source[op]);
    const auto to = static_cast<std::size_t>(plan.op_destination[op]);
    if (plan.rank_domain[from] == plan.rank_domain[to]) continue;
    const auto gpus = static_cast<std::size_t>(
        std::count(plan.rank_domain.begin(), plan.rank_domain.end(), plan.rank_domain[from]));
    ASSERT_EQ(from % gpus, to % gpus);
  }
}

void plan_check_run(FabricKind kind, std::uint64_t seed, int jobs) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < jobs; ++i) {
    std::string text = random_text(random, kind, 12, 12, "  latency: 0\n");
    if (pick(random, 0, 2) == 0)
      text.replace(text.rfind('}'), 1, fmt::format(", max_peers: {}}}", pick(random, 2, 6)));
    SCOPED_TRACE(text);
    const Job job = job_from_text(text, "random.yaml", "");
    const PlanningInput input = prepare(job);
    for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      Plan plan;
      try {
        plan = make_plan(job, input, job.strategy, discipline);
      } catch (const InputError& error) {
        // Only a limit of peers may be impossible, and then the least is named.
        ASSERT_NE(std::string(error.what()).find("expected at least"), std::string::npos)
            << error.what();
        continue;
      }
      const CheckReport report = check_plan(plan);
      ASSERT_TRUE(report.ok) << report.violations[0].text;
      if (kind == FabricKind::kRails) expect_rails_kept(plan);
      ASSERT_LE(plan_totals(plan).max_peers,
                static_cast<std::uint64_t>(job.options.max_peers.value_or(INT32_MAX)));
      RunOptions options;
      options.verify = true;
      const RunResult result = run_on_host(plan, options);
      ASSERT_EQ(result.mismatched_bytes, 0u);
    }
  }
}

TEST(FabricProperty, RailOnlyPlansArrive) { plan_check_run(FabricKind::kRails, 1, 40); }
TEST(FabricProperty, OversubscribedPlansArrive) { plan_check_run(FabricKind::kNarrow, 2, 40); }
TEST(FabricProperty, PlansBetweenSitesArrive) { plan_check_run(FabricKind::kSites, 3, 40); }

// Most loaded port or link over the bound, and simulated time over the bound, of long jobs.
struct Ratios {
  std::vector<double> ideal;
  std::vector<double> simulated;
};

Ratios measure(FabricKind kind, std::uint64_t seed, int jobs) {
  std::mt19937_64 random(seed);
  Ratios ratios;
  for (int i = 0; i < jobs; ++i) {
    const std::string text = random_text(random, kind, 200'000, 100'000, "");
    const Job job = job_from_text(text, "long.yaml", "");
    const PlanningInput input = prepare(job);
    if (input.bounds.bound_ps == 0) continue;  // everything is where it belongs
    const Plan plan = make_plan(job, input, job.strategy, Discipline::kWindows);
    const double bound = static_cast<double>(input.bounds.bound_ps) * 1e-12;
    ratios.ideal.push_back(ideal_seconds(plan) / bound);
    ratios.simulated.push_back(simulate(plan).refit_s / bound);
    if (ratios.ideal.back() > 1.05 || ratios.simulated.back() > 1.1)
      fmt::print("{}bound {} {:.4f} s, port {:.3f}, simulated {:.3f}\n", text, input.bounds.binding,
                 bound, ratios.ideal.back(), ratios.simulated.back());
  }
  std::sort(ratios.ideal.begin(), ratios.ideal.end());
  std::sort(ratios.simulated.begin(), ratios.simulated.end());
  const auto print = [&](const char* name, const std::vector<double>& values) {
    fmt::print("{} over bound: median {:.3f}, 90% {:.3f}, max {:.3f}\n", name,
               values[values.size() / 2], values[values.size() * 9 / 10], values.back());
  };
  print("most loaded port or link", ratios.ideal);
  print("simulated, windows", ratios.simulated);
  return ratios;
}

TEST(FabricProperty, RailsStayNearTheBound) {
  const Ratios ratios = measure(FabricKind::kRails, 4, 12);
  EXPECT_LE(ratios.ideal[ratios.ideal.size() / 2], 1.01);
  EXPECT_LE(ratios.ideal.back(), 1.3);
}

TEST(FullFabricProperty, AllKindsStayNearTheBound) {
  for (const FabricKind kind : {FabricKind::kRails, FabricKind::kNarrow, FabricKind::kSites}) {
    const Ratios ratios = measure(kind, 5, 60);
    EXPECT_LE(ratios.ideal[ratios.ideal.size() / 2], 1.05);
    EXPECT_LE(ratios.simulated[ratios.simulated.size() / 2], 1.1);
  }
}

}  // namespace
}  // namespace transload
