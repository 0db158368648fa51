// Random route trees over random jobs: forwards over the network and NVLink, through ranks that
// want the bytes and through ranks that do not, of any depth. Whatever the tree, the plan must
// prove, simulate and move every byte.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "executor/run.h"
#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "simulator/simulate.h"
#include "tests/testing/random_job.h"
#include "tests/testing/route_plan.h"

namespace transload {
namespace {

class RandomTrees {
 public:
  RandomTrees(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
              std::mt19937_64& random)
      : problem_(problem), demand_(demand), fabric_(fabric), random_(random), loads_(fabric) {
    std::set_union(problem.source_ranks.begin(), problem.source_ranks.end(),
                   problem.destination_ranks.begin(), problem.destination_ranks.end(),
                   std::back_inserter(ranks_));
  }

  RouteSet make() {
    for (std::uint32_t c = 0; c < demand_.classes.size(); ++c) add_class(c);
    return std::move(set_);
  }

 private:
  void add_class(std::uint32_t c) {
    const std::span<const Rank> holders = problem_.sets.of(demand_.classes[c].holders);
    std::vector<Rank> wanters;
    for (Rank rank : problem_.sets.of(demand_.classes[c].receivers)) {
      if (std::binary_search(holders.begin(), holders.end(), rank))
        set_.locals.push_back({c, rank});
      else
        wanters.push_back(rank);
    }
    if (wanters.empty()) return;
    const std::int64_t middle = testing::pick(random_, 0, demand_.classes[c].bytes);
    if (middle > 0) add_piece(c, 0, middle, wanters);
    if (middle < demand_.classes[c].bytes || middle == 0)
      add_piece(c, middle, demand_.classes[c].bytes, wanters);
  }

  // The piece goes whole to the first wanter; the others get it whole or in two parts, each from a
  // holder or from somebody who has landed that part.
  void add_piece(std::uint32_t c, std::int64_t begin, std::int64_t end, std::vector<Rank> wanters) {
    std::shuffle(wanters.begin(), wanters.end(), random_);
    landed_.clear();
    for (Rank rank : wanters) {
      const std::int64_t middle = testing::pick(random_, begin, end);
      if (middle == begin || middle == end || testing::pick(random_, 0, 1) == 0) {
        add_way(c, begin, end, rank);
      } else {
        add_way(c, begin, middle, rank);
        add_way(c, middle, end, rank);
      }
    }
  }

  void add_way(std::uint32_t c, std::int64_t begin, std::int64_t end, Rank to) {
    const std::span<const Rank> holders = problem_.sets.of(demand_.classes[c].holders);
    std::vector<std::uint32_t> parents;
    for (std::uint32_t route : landed_)
      if (set_.routes[route].begin <= begin && end <= set_.routes[route].end &&
          set_.routes[route].landing != to)
        parents.push_back(route);
    std::uint32_t parent = kNoRoute;
    if (!parents.empty() && testing::pick(random_, 0, 3) > 0)
      parent = parents[index(parents.size())];
    Rank from = parent == kNoRoute ? holders[index(holders.size())] : set_.routes[parent].landing;
    while (testing::pick(random_, 0, 2) == 0) {
      const Rank relay = ranks_[index(ranks_.size())];
      if (relay == from || relay == to) continue;
      parent = add_route(c, begin, end, from, relay, parent, false);
      from = relay;
    }
    landed_.push_back(add_route(c, begin, end, from, to, parent, true));
  }

  std::uint32_t add_route(std::uint32_t c, std::int64_t begin, std::int64_t end, Rank from, Rank to,
                          std::uint32_t parent, bool wanted) {
    const PortPair ports = choose_ports(fabric_, loads_, from, to);
    set_.routes.push_back({c, begin, end, from, to, ports.out, ports.in, 0, 0, parent, wanted});
    return static_cast<std::uint32_t>(set_.routes.size() - 1);
  }

  std::size_t index(std::size_t size) {
    return static_cast<std::size_t>(testing::pick(random_, 0, static_cast<std::int64_t>(size) - 1));
  }

  const ReshardProblem& problem_;
  const Demand& demand_;
  const Fabric& fabric_;
  std::mt19937_64& random_;
  PortLoads loads_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> landed_;  // routes that landed bytes of the piece on a wanter
  RouteSet set_;
};

void run_trees(int count, int first_seed) {
  std::size_t forwards = 0;
  std::size_t relays = 0;
  for (int seed = first_seed; seed < first_seed + count; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    const std::string text = testing::random_job(random);
    const Job job = job_from_text(text, "random.yaml", "");
    EmitOptions options;
    options.discipline = seed % 2 == 0 ? Discipline::kWindows : Discipline::kGroups;
    options.window = *job.options.window;
    options.colours = *job.options.colours;
    options.chunk_bytes = *job.options.chunk_bytes;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const Plan plan = testing::plan_of_routes(
        job, options,
        [&](const ReshardProblem& problem, const Demand& demand, const Fabric& fabric) {
          return RandomTrees(problem, demand, fabric, random).make();
        });
    const CheckReport report = check_plan(plan);
    ASSERT_TRUE(report.ok) << report.violations[0].invariant << ": " << report.violations[0].text;
    for (OpId op = 0; op < plan.operations(); ++op) {
      forwards += op_role(plan, op) == OpRole::kForward ? 1 : 0;
      relays += op_role(plan, op) == OpRole::kRelay ? 1 : 0;
    }
    RunOptions run;
    run.verify = true;
    run.threads = 2;
    const RunResult result = run_on_host(plan, run);
    ASSERT_EQ(result.mismatched_bytes, 0u);
    if (plan_totals(plan).network_bytes > 0 && seed % 4 < 2) {
      EXPECT_GT(simulate(plan, {}).refit_s, 0);
    }
  }
  EXPECT_GT(forwards, 100u);
  EXPECT_GT(relays, 100u);
}

TEST(RouteTrees, TwoHundredRandomTreesAreMovedExactly) { run_trees(200, 7000); }

TEST(FullRouteTrees, FiveThousandRandomTreesAreMovedExactly) { run_trees(5000, 100'000); }

}  // namespace
}  // namespace transload
