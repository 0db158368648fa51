// Random jobs with conversions against an oracle that looks at every element.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/check/check_plan.h"
#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

using testing::pick;

constexpr int kSources = 4;       // ranks 0 .. 3
constexpr int kDestinations = 4;  // ranks 2 .. 5: two of them hold already

// One dimension of a matrix over a mesh of two axes.
struct Side {
  int first = 0;
  std::array<int, 2> mesh = {1, 1};
  std::array<int, 2> placement = {-1, -1};  // dimension, or -1: replicated
};

Side random_side(std::mt19937_64& random, int first, int ranks) {
  Side side;
  side.first = first;
  side.mesh[0] = 1 << pick(random, 0, 2);
  side.mesh[1] = ranks / side.mesh[0];
  side.placement[0] = static_cast<int>(pick(random, -1, 1));
  // No dimension twice: the oracle's arithmetic stays obvious.
  do side.placement[1] = static_cast<int>(pick(random, -1, 1));
  while (side.placement[1] >= 0 && side.placement[1] == side.placement[0]);
  return side;
}

std::string text_of(const Side& side) {
  const auto word = [](int dim) { return dim < 0 ? std::string("R") : fmt::format("S({})", dim); };
  return fmt::format("mesh: {{a: {}, b: {}}}, placements: [{}, {}], ranks: {}-{}", side.mesh[0],
                     side.mesh[1], word(side.placement[0]), word(side.placement[1]), side.first,
                     side.first + side.mesh[0] * side.mesh[1] - 1);
}

// Does `rank` hold element (row, column) of a matrix [rows, columns]? torch.chunk, as a formula.
bool holds(const Side& side, int rank, const std::array<std::int64_t, 2>& shape, std::int64_t row,
           std::int64_t column) {
  const int place = rank - side.first;
  if (place < 0 || place >= side.mesh[0] * side.mesh[1]) return false;
  const std::array<int, 2> at = {place / side.mesh[1], place % side.mesh[1]};
  const std::array<std::int64_t, 2> element = {row, column};
  for (int axis = 0; axis < 2; ++axis) {
    const int dim = side.placement[static_cast<std::size_t>(axis)];
    if (dim < 0) continue;
    const auto d = static_cast<std::size_t>(dim);
    const std::int64_t parts = side.mesh[static_cast<std::size_t>(axis)];
    const std::int64_t part = (shape[d] + parts - 1) / parts;
    if (element[d] / part != at[static_cast<std::size_t>(axis)]) return false;
  }
  return true;
}

// A small block type, so that elements can be looked at one by one: groups of 32 along a row; and
// 128 x 128, whose matrices are a few hundred on a side.
struct Type {
  std::string name;
  std::int64_t block_rows;
  std::int64_t block_columns;
  std::int64_t scale_bytes;  // 0: a cast
  std::int64_t bytes;
};
const std::vector<Type> kTypes = {{"mxfp8", 1, 32, 1, 1},
                                  {"fp8-block128", 128, 128, 4, 1},
                                  {"fp8-e4m3", 1, 1, 0, 1},
                                  {"fp32", 1, 1, 0, 4}};

struct Expected {
  bool source_cuts = false;
  bool destination_cuts = false;
  std::uint64_t network_made = 0;      // converted at the source: values and scales
  std::uint64_t network_original = 0;  // bf16
  std::uint64_t payload = 0;
};

// Every receiver gets what it wants and does not hold, each by itself (p2p). Looks at every element
// of every block of every rank.
Expected expected_of(const Side& source, const Side& destination,
                     const std::array<std::int64_t, 2>& shape, const Type& type) {
  Expected expected;
  for (std::int64_t r = 0; r < shape[0]; r += type.block_rows)
    for (std::int64_t c = 0; c < shape[1]; c += type.block_columns) {
      const std::int64_t rows = std::min(type.block_rows, shape[0] - r);
      const std::int64_t columns = std::min(type.block_columns, shape[1] - c);
      for (int rank = 0; rank < 2 + kDestinations; ++rank) {
        std::int64_t held = 0;
        std::int64_t wanted = 0;
        std::int64_t missing = 0;
        for (std::int64_t i = r; i < r + rows; ++i)
          for (std::int64_t j = c; j < c + columns; ++j) {
            const bool has = holds(source, rank, shape, i, j);
            const bool wants = holds(destination, rank, shape, i, j);
            held += has;
            wanted += wants;
            missing += wants && !has;
          }
        expected.source_cuts |= held > 0 && held < rows * columns;
        expected.destination_cuts |= wanted > 0 && wanted < rows * columns;
        if (wanted == 0) continue;
        expected.payload += static_cast<std::uint64_t>(wanted * type.bytes + type.scale_bytes);
        expected.network_original += static_cast<std::uint64_t>(2 * missing);
        if (held == 0)
          expected.network_made +=
              static_cast<std::uint64_t>(wanted * type.bytes + type.scale_bytes);
      }
    }
  return expected;
}

void expect_plan(const Job& job, const PlanningInput& input, const std::string& name,
                 const std::string& mode, Discipline discipline, const Expected& expected,
                 bool at_source) {
  StrategyChoice choice;
  choice.name = name;
  choice.mode = mode;
  choice.bucket_bytes = mode.empty() ? std::nullopt : std::optional<std::int64_t>(20'000);
  const Plan plan = make_plan(job, input, choice, discipline);
  const CheckReport report = check_plan(plan, 3);
  ASSERT_TRUE(report.ok) << name << ' ' << mode << ": " << report.violations[0].text;
  const PlanTotals totals = plan_totals(plan);
  EXPECT_EQ(totals.payload_bytes, expected.payload) << name << ' ' << mode;
  if (name == "p2p" && mode.empty()) {
    EXPECT_EQ(totals.network_bytes, at_source ? expected.network_made : expected.network_original);
  }
  // All of it is read where it is made: every value of every rank that makes it, once.
  std::uint64_t written = 0;
  for (OpId op = 0; op < plan.operations(); ++op)
    if (op_kind(plan, op) == OpKind::kConvert) written += plan.op_bytes[op];
  EXPECT_EQ(written > 0, expected.payload > 0);
  // Copies and conversions cost nothing on this topology.
  EXPECT_EQ(simulate(plan, {}).refit_s > 0, totals.network_bytes > 0);
}

TEST(Conversions, RandomJobsMoveWhatTheOracleCounts) {
  std::mt19937_64 random(20261130);
  int refused = 0;
  int at_source = 0;
  int at_destination = 0;
  for (int round = 0; round < 120; ++round) {
    const Type& type = kTypes[static_cast<std::size_t>(pick(random, 0, 3))];
    const Side source = random_side(random, 0, kSources);
    const Side destination = random_side(random, 2, kDestinations);
    const auto extent = [&](std::int64_t block) {
      return block * pick(random, 1, block == 128 ? 3 : 8) +
             (type.block_rows == 1 ? 0 : pick(random, 0, 3) * 16 * (pick(random, 0, 2) == 0));
    };
    const std::array<std::int64_t, 2> shape = {extent(type.block_rows), extent(type.block_columns)};
    const std::string text = fmt::format(
        "topology: {{efficiency: 1, latency: 0, nodes: [{{count: 6, gpus: 1, nic: 1GB/s}}]}}\n"
        "tensors:\n  - {{name: w, shape: [{}, {}], dtype: bf16, source: {{{}}}, destination: {{{}, "
        "dtype: {}}}}}\noptions: {{chunk_bytes: {}}}\n",
        shape[0], shape[1], text_of(source), text_of(destination), type.name,
        pick(random, 100, 40'000));
    SCOPED_TRACE(text);
    const Expected expected = expected_of(source, destination, shape, type);
    if (expected.destination_cuts) {
      EXPECT_THROW(job_from_text(text, "job.yaml", ""), InputError);
      ++refused;
      continue;
    }
    const Job job = job_from_text(text, "job.yaml", "");
    const bool made_at_source = !expected.source_cuts && type.bytes <= 2;
    EXPECT_EQ(job.problem.conversions.at(0).making,
              made_at_source ? Making::kAtSource : Making::kAtDestination);
    ++(made_at_source ? at_source : at_destination);
    const PlanningInput input = prepare(job);
    for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      expect_plan(job, input, "transload", "", discipline, expected, made_at_source);
      expect_plan(job, input, "p2p", "", discipline, expected, made_at_source);
      expect_plan(job, input, "p2p", "full-tensor", discipline, expected, true);
    }
    if (HasFatalFailure()) return;
  }
  // The draw has some of every kind.
  EXPECT_GE(refused, 10);
  EXPECT_GE(at_source, 20);
  EXPECT_GE(at_destination, 20);
}

}  // namespace
}  // namespace transload
