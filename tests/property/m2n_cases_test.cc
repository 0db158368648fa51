// The tuples of NVIDIA's own M2N tests and benchmarks (nccl-extensions 44d2de0), those that its
// public issues ask for, and those that it cannot do. `transload` plans, proves and moves every one
// of them; `m2n` does too, or says which of NVIDIA's limits is in the way.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "executor/run.h"
#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/schedule/scale.h"
#include "planner/strategy/strategy.h"

namespace transload {
namespace {

struct Tuple {
  int number = 0;
  const char* shape;
  const char* dtype;
  const char* source;  // "first mesh placements": "0 2x3 S0 R"
  const char* destination;
  int gpus = 8;                           // per node, which is an NVLink domain
  std::vector<const char*> refused = {};  // m2n's limits
};

const char* const kEqual = "shards of equal length";

const std::vector<Tuple>& tuples() {
  static const std::vector<Tuple> all = {
      {1, "200, 200", "fp32", "0 2 R", "2 2 R"},
      {2, "200, 200", "uint8", "0 1x4 R S0", "4 1x4 R S1"},
      {3, "200, 200", "bf16", "0 1x4 R S1", "4 1x4 R S0"},
      {4, "200, 200", "fp32", "0 1x4 R S1", "4 1x4 R S1"},
      {5, "200, 200", "bf16", "0 2x2 S0 R", "4 4x1 R S1"},
      {6, "200, 200", "bf16", "0 4x1 S1 R", "4 2x2 S1 R"},
      {7, "200, 200", "bf16", "0 2x4 R S1", "8 2x4 S0 R"},
      {8, "200, 200", "bf16", "0 2x2 R S0", "4 4x1 S1 R"},
      {9, "240, 240", "bf16", "0 2x3 S0 R", "6 2x1 S0 R"},
      {10, "240, 240", "bf16", "0 2x6 R S0", "12 2x2 R S1"},
      {11, "240, 240", "bf16", "0 2x1 R S1", "2 2x3 R S0"},
      {12, "240, 240", "bf16", "0 2x2 S0 R", "4 2x6 R S0"},
      {13, "240, 240", "bf16", "0 2x1 S1 R", "2 2x3 S0 R"},
      {14, "576, 576", "bf16", "0 4x1 R S1", "4 4x1 R S1"},
      {15, "3072, 6144", "bf16", "0 4x4 R S0", "16 4x4 R S1"},
      {16, "3072, 3072", "bf16", "0 4x1 S1 R", "4 4x1 S0 R"},
      {17, "64, 128, 128", "bf16", "0 1x2 R S0", "2 1x2 R S2"},
      {18, "64, 128, 128", "bf16", "0 1x4 R S2", "4 1x4 R S0"},
      {19, "128, 64, 64", "bf16", "0 1x4 R S1", "4 1x4 R S2"},
      {20, "64, 128, 128", "bf16", "0 1x4 R S0", "4 1x4 R S1"},
      {21, "200, 200", "bf16", "0 2x2 R S0", "4 4x1 R S1"},
      {22, "256, 7168, 2048", "bf16", "0 8x16 R S0", "128 4x32 R S2"},
      {23, "8192", "fp32", "0 1x4 R S0", "4 1x4 R S0"},
      {24, "8192", "bf16", "0 2x2 S0 R", "4 4x1 R S0"},
      {25, "16384", "bf16", "0 2x1 S0 R", "2 2x3 S0 R"},
      {26, "4194304", "bf16", "0 4x4 R S0", "16 4x4 S0 R"},
      {27, "4", "uint8", "0 2 R", "2 2 R"},
      {28, "4096", "uint8", "2 1x2 R S0", "0 1x2 R S0"},
      {29, "4", "bf16", "0 1x2 R S0", "2 1x2 R S0"},
      {30, "4096", "bf16", "0 1x1 R S0", "1 1x1 R S0"},
      {30, "4096", "uint8", "0 1x1 R S0", "1 1x1 R S0"},
      // Tensors of the model benchmark's configurations.
      {31, "8192, 5120", "bf16", "0 2x2 R S0", "4 16x1 R R", 4},
      {32, "5120, 25600", "bf16", "0 2x4 R S1", "8 8x4 R S1"},
      {33, "151936, 5120", "bf16", "0 2x4 R S0", "8 8x4 R S0"},
      {34, "256, 2048, 7168", "fp8-e4m3", "0 1x16 R S0", "16 16x8 R S1"},
      {35, "256, 7168, 2048", "fp8-e4m3", "0 1x16 R S0", "16 16x8 R S2"},
      {36, "256, 16, 56", "fp32", "0 1x16 R S0", "16 128x1 R R"},
      {37, "256, 7168", "bf16", "0 16 R", "16 128 R"},
      // What NVIDIA's library cannot express, or what breaks it.
      {38, "16384", "bf16", "0 2x3 R S0", "6 2x1 R S0", 8, {kEqual}},
      {39,
       "131072, 131072",
       "int8",
       "0 1x4 R S0",
       "4 1x4 R S1",
       8,
       {"a rank's shard in one staging slot of 2.147 GB"}},
      {40,
       "64, 4096",
       "bf16",
       "0 1x32 R S0",
       "32 1x8 R S1",
       8,
       {"at most 16 overlapping source shards per destination shard"}},
      {41,
       "128, 1536, 4096",
       "bf16",
       "0 4x4 S0 S1",
       "16 2x8 R S1",
       8,
       {"one sharded dimension per side"}},
      {42, "200", "fp32", "0 1x3 R S0", "3 1x2 R S0", 8, {kEqual}},
      {43, "3, 7", "uint8", "0 1x5 R S1", "5 1x4 R S0", 8, {kEqual}},
      {44, "200, 200", "bf16", "0 3x2 R S0", "6 2x2 R S0"},
      {45, "200, 200", "bf16", "0 2x2 R S0", "4 5x2 R S0", 4},
      {46, "200, 200", "bf16", "0 1x4 R S0", "2 1x4 R S0", 8, {"disjoint ranks on the two sides"}},
  };
  return all;
}

// "0 2x3 S0 R" as a side of a job; `end` becomes the first rank behind it.
std::string side_text(const std::string& words, int& end) {
  std::istringstream stream(words);
  int first = 0;
  std::string mesh;
  stream >> first >> mesh;
  std::string axes;
  std::string placements;
  int ranks = 1;
  std::istringstream sizes(mesh);
  char axis = 'a';
  for (std::string size; std::getline(sizes, size, 'x'); ++axis) {
    std::string place;
    stream >> place;
    if (place != "R") place = fmt::format("S({})", place.substr(1));
    axes += fmt::format("{}{}: {}", axes.empty() ? "" : ", ", axis, size);
    placements += (placements.empty() ? "" : ", ") + place;
    ranks *= std::stoi(size);
  }
  end = std::max(end, first + ranks);
  return fmt::format("{{mesh: {{{}}}, placements: [{}], ranks: {}-{}}}", axes, placements, first,
                     first + ranks - 1);
}

Job job_of(const Tuple& tuple) {
  int end = 0;
  const std::string source = side_text(tuple.source, end);
  const std::string destination = side_text(tuple.destination, end);
  return job_from_text(
      fmt::format(
          "topology: {{nodes: [{{count: {}, gpus: {}, nvlink: 450GB/s, nics_per_gpu: 1, "
          "nic: 50GB/s}}], efficiency: 1, latency: 1us}}\n"
          "tensors:\n  - {{name: w, shape: [{}], dtype: {}, source: {}, destination: {}}}\n",
          (end + tuple.gpus - 1) / tuple.gpus, tuple.gpus, tuple.shape, tuple.dtype, source,
          destination),
      "tuple.yaml", "");
}

std::vector<std::string> limits_of(const std::vector<Unsupported>& refused) {
  std::vector<std::string> limits;
  for (const Unsupported& entry : refused) limits.push_back(entry.limit);
  return limits;
}

// Bytes of memory that all ranks together need.
std::uint64_t memory_of(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    bytes += rank_peak_bytes(plan, static_cast<std::int32_t>(rank));
  return bytes;
}

// Proves the plan and moves its bytes, all of them if the ranks' memory is at most `most`; else
// with lengths divided until about that is left.
void prove_and_run(const Plan& full, std::uint64_t most) {
  const CheckReport report = check_plan(full);
  ASSERT_TRUE(report.ok) << report.violations[0].invariant << ": " << report.violations[0].text;
  const std::uint64_t memory = memory_of(full);
  const std::uint64_t scale = memory > most ? memory / most + 1 : 1;
  const Plan plan = scale > 1 ? scale_plan(full, scale) : full;
  RunOptions options;
  options.verify = true;
  const RunResult result = run_on_host(plan, options);
  EXPECT_EQ(result.mismatched_bytes, 0u);
  EXPECT_EQ(result.verified_bytes, plan_totals(plan).payload_bytes);
}

constexpr std::uint64_t kQuick = std::uint64_t{16} << 20;
constexpr std::uint64_t kSixGigabytes = 6'000'000'000;

TEST(M2nCases, TransloadMovesAllOfThemUnderBothDisciplines) {
  for (const Tuple& tuple : tuples()) {
    SCOPED_TRACE(fmt::format("tuple {}", tuple.number));
    const Job job = job_of(tuple);
    const PlanningInput input = prepare(job);
    for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups})
      ASSERT_NO_FATAL_FAILURE(
          prove_and_run(make_plan(job, input, StrategyChoice{}, discipline), kQuick));
  }
}

TEST(FullM2nCases, TransloadMovesAllBytesOfAllThatFitIntoSixGigabytes) {
  for (const Tuple& tuple : tuples()) {
    SCOPED_TRACE(fmt::format("tuple {}", tuple.number));
    const Job job = job_of(tuple);
    const Plan plan = make_plan(job, prepare(job), StrategyChoice{}, Discipline::kWindows);
    ASSERT_NO_FATAL_FAILURE(prove_and_run(plan, kSixGigabytes));
  }
}

TEST(M2nCases, M2nMovesThoseThatItsLimitsAllowAndNamesTheLimitElse) {
  // 46 tuples, one of them in two types.
  ASSERT_EQ(tuples().size(), 47u);
  int refused = 0;
  for (const Tuple& tuple : tuples()) {
    SCOPED_TRACE(fmt::format("tuple {}", tuple.number));
    const Job job = job_of(tuple);
    const PlanningInput input = prepare(job);
    for (const char* mode : {"default", "parent-node-aware", "parent-uniform", "direct"}) {
      SCOPED_TRACE(mode);
      StrategyChoice m2n;
      m2n.name = "m2n";
      m2n.mode = mode;
      std::vector<std::string> wanted(tuple.refused.begin(), tuple.refused.end());
      // DIRECT has neither staging slots of that kind nor the kernel's table.
      if (m2n.mode == "direct" && (tuple.number == 39 || tuple.number == 40)) wanted.clear();
      EXPECT_EQ(limits_of(refusals(job, input, m2n)), wanted);
      if (!wanted.empty()) {
        EXPECT_THROW(make_plan(job, input, m2n, Discipline::kWindows), UnsupportedError);
        ++refused;
        continue;
      }
      for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups})
        ASSERT_NO_FATAL_FAILURE(prove_and_run(make_plan(job, input, m2n, discipline), kQuick));
    }
  }
  EXPECT_EQ(refused, 7 + 7 + 7 + 5);
}

}  // namespace
}  // namespace transload
