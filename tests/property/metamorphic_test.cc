// What must not change, or must change in a known way, when a job changes: rates, the numbers of
// ranks inside a domain, replicas of the source. And where no schedule needs relays, the plan's
// most loaded port is the bound.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "common/units.h"
#include "planner/strategy/helper_ranks.h"
#include "planner/strategy/strategy.h"
#include "planner/strategy/transload/assign.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

using testing::pick;

// A mesh of two axes, each replicated (-1) or cutting a dimension.
struct SideSketch {
  std::array<int, 2> mesh = {1, 1};
  std::array<int, 2> cuts = {-1, -1};
  int replicas = 1;  // an axis in front of the mesh, over further ranks
};

struct TensorSketch {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  SideSketch source;
  SideSketch destination;
};

// A job of tensors that all have the same ranks on a side, in a form that a test can change.
struct JobSketch {
  int gpus = 1;            // of a node, which is a domain
  std::vector<int> rates;  // GB/s of the NICs, by node
  int rate_scale = 1;
  std::vector<int> source;
  std::vector<int> destination;
  std::vector<TensorSketch> tensors;
};

SideSketch random_side(std::mt19937_64& random, int ranks) {
  std::vector<int> divisors;
  for (int d = 1; d <= ranks; ++d)
    if (ranks % d == 0) divisors.push_back(d);
  SideSketch side;
  side.mesh[0] =
      divisors[static_cast<std::size_t>(pick(random, 0, static_cast<int>(divisors.size()) - 1))];
  side.mesh[1] = ranks / side.mesh[0];
  for (int& cut : side.cuts) cut = static_cast<int>(pick(random, -1, 1));
  return side;
}

// Domains of 1 to 8 GPUs, each of one side only, so that NICs are the bottleneck and not NVLink;
// tensors of 0.5 to 66 GB.
JobSketch random_sketch(std::uint64_t seed, int max_ranks) {
  std::mt19937_64 random(seed);
  JobSketch job;
  job.gpus = 1 << pick(random, 0, 3);
  const bool mixed = pick(random, 0, 3) == 0;
  const auto nodes = std::max<std::int64_t>(
      2, (pick(random, 4, max_ranks) + job.gpus - 1) / static_cast<std::int64_t>(job.gpus));
  for (std::int64_t n = 0; n < nodes; ++n)
    job.rates.push_back(mixed && pick(random, 0, 1) == 0 ? 25 : 50);
  const int ranks = static_cast<int>(nodes) * job.gpus;
  const auto cut = static_cast<int>(pick(random, 1, nodes - 1)) * job.gpus;
  job.source.resize(static_cast<std::size_t>(cut));
  job.destination.resize(static_cast<std::size_t>(ranks - cut));
  std::iota(job.source.begin(), job.source.end(), 0);
  std::iota(job.destination.begin(), job.destination.end(), cut);
  for (std::int64_t t = pick(random, 1, 3); t > 0; --t)
    job.tensors.push_back({1000 * pick(random, 64, 512), 1000 * pick(random, 8, 128),
                           random_side(random, cut), random_side(random, ranks - cut)});
  return job;
}

// The same with every rank on both sides: what a domain holds it serves itself, and NVLink is often
// the bottleneck.
JobSketch colocated_sketch(std::uint64_t seed, int max_ranks) {
  JobSketch job = random_sketch(seed, max_ranks);
  std::mt19937_64 random(seed);
  std::vector<int> all(job.rates.size() * static_cast<std::size_t>(job.gpus));
  std::iota(all.begin(), all.end(), 0);
  job.source = job.destination = all;
  for (TensorSketch& tensor : job.tensors)
    for (SideSketch* side : {&tensor.source, &tensor.destination})
      *side = random_side(random, static_cast<int>(all.size()));
  return job;
}

std::string side_text(const SideSketch& side, const std::vector<int>& ranks) {
  const auto placement = [](int cut) {
    return cut < 0 ? std::string("R") : fmt::format("S({})", cut);
  };
  return fmt::format("{{mesh: {{r: {}, a: {}, b: {}}}, placements: [R, {}, {}], ranks: [{}]}}",
                     side.replicas, side.mesh[0], side.mesh[1], placement(side.cuts[0]),
                     placement(side.cuts[1]), fmt::join(ranks, ", "));
}

std::string text_of(const JobSketch& job) {
  std::string text = fmt::format(
      "topology:\n  efficiency: 1\n  latency: 0\n  rate_scale: {}\n  nodes:\n", job.rate_scale);
  for (int rate : job.rates)
    text += fmt::format("    - {{gpus: {}, nic: {}GB/s{}}}\n", job.gpus, rate,
                        job.gpus > 1 ? ", nvlink: 450GB/s" : "");
  text += "tensors:\n";
  for (std::size_t t = 0; t < job.tensors.size(); ++t)
    text += fmt::format(
        "  - {{name: t{}, shape: [{}, {}], dtype: uint8, source: {}, destination: {}}}\n", t,
        job.tensors[t].rows, job.tensors[t].columns, side_text(job.tensors[t].source, job.source),
        side_text(job.tensors[t].destination, job.destination));
  return text;
}

struct Times {
  std::int64_t bound_ps = 0;
  double ideal_s = 0;
  bool relays = false;  // direct copies would load a source beyond the bound
};

Times times_of(const JobSketch& sketch) {
  const Job job = job_from_text(text_of(sketch), "sketch.yaml", "");
  const PlanningInput input = prepare(job);
  Times times;
  times.bound_ps = input.bounds.bound_ps;
  for (const Bound& bound : input.bounds.bounds)
    if (bound.name == "src_copies") times.relays = bound.ps > times.bound_ps;
  times.ideal_s = ideal_seconds(make_plan(job, input, StrategyChoice{}, Discipline::kWindows));
  return times;
}

// Cuts may miss their places by 1/4000 of a port's load, each.
constexpr double kCuts = 1e-3;

// Runs `check` on `count` jobs and names the seed of one that fails.
template <class Check>
void for_jobs(int first, int count, Check&& check,
              JobSketch (*sketch)(std::uint64_t, int) = random_sketch) {
  for (int seed = first; seed < first + count; ++seed) {
    const JobSketch job = sketch(static_cast<std::uint64_t>(seed), 24);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text_of(job)));
    check(job);
    if (::testing::Test::HasFailure()) return;
  }
}

void scaling_all_rates_scales_all_times(const JobSketch& job) {
  const Times before = times_of(job);
  JobSketch faster = job;
  faster.rate_scale = 4;
  const Times after = times_of(faster);
  EXPECT_NEAR(static_cast<double>(after.bound_ps) * 4, static_cast<double>(before.bound_ps), 8);
  EXPECT_NEAR(after.ideal_s * 4, before.ideal_s, 1e-6 * before.ideal_s);
}

// The sides' ranks of each domain get each other's numbers; a rank keeps its side.
void numbers_inside_a_domain_do_not_matter(const JobSketch& job, std::mt19937_64& random) {
  JobSketch other = job;
  std::vector<int> number(job.rates.size() * static_cast<std::size_t>(job.gpus));
  std::iota(number.begin(), number.end(), 0);
  for (auto node = number.begin(); node != number.end(); node += job.gpus)
    std::shuffle(node, node + job.gpus, random);
  for (int& rank : other.source) rank = number[static_cast<std::size_t>(rank)];
  for (int& rank : other.destination) rank = number[static_cast<std::size_t>(rank)];
  const Times before = times_of(job);
  const Times after = times_of(other);
  EXPECT_EQ(after.bound_ps, before.bound_ps);
  EXPECT_NEAR(after.ideal_s, before.ideal_s, kCuts * before.ideal_s);
}

// Every tensor once more, on nodes of its own.
void a_source_replica_never_hurts(const JobSketch& job) {
  JobSketch more = job;
  int next = static_cast<int>(job.rates.size()) * job.gpus;
  for (std::size_t i = 0; i < job.source.size(); ++i) more.source.push_back(next++);
  while (static_cast<int>(more.rates.size()) * job.gpus < next) more.rates.push_back(50);
  for (TensorSketch& tensor : more.tensors) tensor.source.replicas = 2;
  const Times before = times_of(job);
  const Times after = times_of(more);
  EXPECT_LE(after.bound_ps, before.bound_ps);
  EXPECT_LE(after.ideal_s, before.ideal_s * (1 + kCuts));
}

void the_most_loaded_port_is_the_bound(const JobSketch& job) {
  const Times times = times_of(job);
  const double bound_s = to_seconds(times.bound_ps);
  EXPECT_GE(times.ideal_s, bound_s * (1 - 1e-9));
  if (!times.relays) {
    EXPECT_LE(times.ideal_s, bound_s * (1 + kCuts));
  }
}

void numbers_do_not_matter(int first, int count) {
  std::mt19937_64 random(static_cast<std::uint64_t>(first));
  for_jobs(first, count,
           [&](const JobSketch& job) { numbers_inside_a_domain_do_not_matter(job, random); });
}

// Loads that are evened out (planner/strategy/transload/even_out.h) are not exact.
constexpr double kEvenedOut = 2e-2;

void numbers_do_not_matter_to_loads(const JobSketch& job, std::mt19937_64& random) {
  std::vector<int> number(job.source);
  for (auto node = number.begin(); node != number.end(); node += job.gpus)
    std::shuffle(node, node + job.gpus, random);
  JobSketch other = job;
  other.source = other.destination = number;
  const auto busiest_ps = [](const JobSketch& sketch) {
    const Job parsed = job_from_text(text_of(sketch), "sketch.yaml", "");
    const PlanningInput input = prepare(parsed);
    PlanBuilder builder;
    const Fabric fabric = add_fabric(builder, parsed.topology, parsed.problem);
    return static_cast<double>(
        most_loaded_ps(assign_balanced(parsed.problem, input.demand, fabric,
                                       {may_help(parsed), input.bounds.bound_ps}),
                       fabric));
  };
  const double before = busiest_ps(job);
  EXPECT_NEAR(busiest_ps(other), before, kEvenedOut * before);
}

void numbers_do_not_matter_where_colocated(int first, int count) {
  std::mt19937_64 random(static_cast<std::uint64_t>(first));
  for_jobs(
      first, count, [&](const JobSketch& job) { numbers_do_not_matter_to_loads(job, random); },
      colocated_sketch);
}

TEST(Metamorphic, NumbersInsideADomainDoNotMatterWhereColocated) {
  numbers_do_not_matter_where_colocated(1, 25);
}
TEST(FullMetamorphic, NumbersInsideADomainDoNotMatterWhereColocated) {
  numbers_do_not_matter_where_colocated(1000, 300);
}

TEST(Metamorphic, ScalingAllRatesScalesAllTimes) {
  for_jobs(1, 25, scaling_all_rates_scales_all_times);
}
TEST(Metamorphic, NumbersInsideADomainDoNotMatter) { numbers_do_not_matter(1, 25); }
TEST(Metamorphic, ASourceReplicaNeverHurts) { for_jobs(1, 25, a_source_replica_never_hurts); }
TEST(Metamorphic, TheMostLoadedPortIsTheBound) {
  for_jobs(1, 50, the_most_loaded_port_is_the_bound);
}

TEST(FullMetamorphic, ScalingAllRatesScalesAllTimes) {
  for_jobs(1000, 300, scaling_all_rates_scales_all_times);
}
TEST(FullMetamorphic, NumbersInsideADomainDoNotMatter) { numbers_do_not_matter(1000, 300); }
TEST(FullMetamorphic, ASourceReplicaNeverHurts) {
  for_jobs(1000, 300, a_source_replica_never_hurts);
}
TEST(FullMetamorphic, TheMostLoadedPortIsTheBound) {
  for_jobs(1000, 1000, the_most_loaded_port_is_the_bound);
}

}  // namespace
}  // namespace transload
