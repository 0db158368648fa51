#include "planner/demand/transfers.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

#include "common/error.h"
#include "planner/demand/demand.h"
#include "planner/job/job.h"
#include "tests/testing/random_job.h"

namespace transload {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

Job job_with(const std::string& tensors) {
  return job_from_text(
      "topology: {nodes: [{gpus: 2, nic: 50GB/s, nvlink: 450GB/s}, {gpus: 4, nic: 50GB/s, nvlink: "
      "450GB/s}]}\ntensors:\n" +
          tensors,
      "job.yaml", "");
}

constexpr const char* kEightByEight =
    "  - {name: w, shape: [8, 8], dtype: fp32, "
    "source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1}, "
    "destination: {mesh: {y: 4}, placements: [S(1)], ranks: 2-5}}\n";

TEST(Transfers, EightByEightIsEightBoxesOf32Bytes) {
  const Job job = job_with(kEightByEight);
  OverlapLister lister(job.problem);
  const auto tensors = select_tensors(job.problem, std::nullopt);
  std::size_t seen = 0;
  lister.visit(tensors, kNoLimit, [&](const Overlap& overlap) {
    EXPECT_EQ(overlap.box.extent(0), 4);
    EXPECT_EQ(overlap.box.extent(1), 2);
    EXPECT_EQ(overlap.bytes, 32);  // 4 x 2 elements of 4 bytes
    ASSERT_EQ(overlap.holders.size(), 1u);
    EXPECT_EQ(overlap.holders[0], static_cast<Rank>(seen / 4));
    EXPECT_EQ(overlap.destination, static_cast<Rank>(2 + seen % 4));
    EXPECT_EQ(overlap.source_runs, 4);       // two columns out of rows of eight
    EXPECT_EQ(overlap.destination_runs, 1);  // four whole rows of two
    ++seen;
  });
  EXPECT_EQ(seen, 8u);
  const OverlapTotals totals = lister.totals(tensors);
  EXPECT_EQ(totals.count, 8);
  EXPECT_EQ(totals.bytes, 256);
  EXPECT_EQ(totals.pairs, 8);
}

TEST(Transfers, EqualSourceBoxesAreOneOperationWithSeveralHolders) {
  // Two replicas of the whole tensor, one of them also a destination.
  const Job job = job_with(
      "  - {name: w, shape: [8], dtype: fp32, source: {mesh: {x: 2}, placements: [R], ranks: 0-1}, "
      "destination: {mesh: {y: 2}, placements: [S(0)], ranks: 1-2}}\n");
  OverlapLister lister(job.problem);
  const auto tensors = select_tensors(job.problem, std::nullopt);
  lister.visit(tensors, kNoLimit, [](const Overlap& overlap) {
    EXPECT_EQ(std::vector<Rank>(overlap.holders.begin(), overlap.holders.end()),
              (std::vector<Rank>{0, 1}));
    EXPECT_EQ(overlap.bytes, 16);
  });
  const OverlapTotals totals = lister.totals(tensors);
  EXPECT_EQ(totals.count, 2);
  EXPECT_EQ(totals.pairs, 2);  // (0, 1) and (0, 2): the first holder sends
}

TEST(Transfers, AdjacentBoxesOfARankAreMerged) {
  // Four quarters are one box of 8 x 8. Each quarter lies in a dense buffer of its own, so columns
  // 0:4 are two runs, of a whole quarter each.
  const Job job = job_with(
      "  - {name: w, shape: [8, 8], dtype: uint8, source: {boxes: {0: [[[0, 4], [0, 4]], "
      "[[0, 4], [4, 8]], [[4, 8], [0, 4]], [[4, 8], [4, 8]]]}}, "
      "destination: {mesh: {y: 2}, placements: [S(1)], ranks: 2-3}}\n");
  const Layout& source = job.problem.layouts[job.problem.groups[0].source];
  const std::vector<RankBox> merged = maximal_boxes(source);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].box, whole_box(std::vector<std::int64_t>{8, 8}));
  OverlapLister lister(job.problem);
  std::size_t seen = 0;
  lister.visit(select_tensors(job.problem, std::nullopt), kNoLimit, [&](const Overlap& overlap) {
    EXPECT_EQ(overlap.bytes, 32);
    EXPECT_EQ(overlap.source_runs, 2);
    ++seen;
  });
  EXPECT_EQ(seen, 2u);
}

TEST(Transfers, AnLShapeStaysTwoBoxes) {
  const Job job = job_with(
      "  - {name: w, shape: [4, 4], dtype: uint8, source: {mesh: {x: 1}, placements: [R], ranks: "
      "0}, "
      "destination: {boxes: {2: [[[0, 2], [0, 4]], [[2, 4], [0, 2]]]}}}\n");
  EXPECT_EQ(maximal_boxes(job.problem.layouts[job.problem.groups[0].destination]).size(), 2u);
}

TEST(Transfers, LimitStopsTheListAndNotTheTotals) {
  const Job job = job_with(kEightByEight);
  OverlapLister lister(job.problem);
  const auto tensors = select_tensors(job.problem, std::nullopt);
  std::size_t seen = 0;
  lister.visit(tensors, 3, [&](const Overlap&) { ++seen; });
  EXPECT_EQ(seen, 3u);
  EXPECT_EQ(lister.totals(tensors).count, 8);
}

TEST(Transfers, SelectsByNameThenByGlobAndSuggests) {
  std::string text;
  for (const char* name : {"b.weight", "a.weight", "a.bias"})
    text += std::string("  - {name: ") + name +
            ", shape: [4], dtype: fp32, source: {mesh: {x: 1}, placements: [R], ranks: 0}, "
            "destination: {mesh: {x: 1}, placements: [R], ranks: 2}}\n";
  const Job job = job_with(text);
  const auto names = [&](const char* pattern) {
    std::vector<std::string> found;
    for (std::uint32_t t : select_tensors(job.problem, pattern))
      found.push_back(job.problem.names[t]);
    return found;
  };
  EXPECT_EQ(names("a.bias"), std::vector<std::string>{"a.bias"});
  EXPECT_EQ(names("*.weight"), (std::vector<std::string>{"b.weight", "a.weight"}));  // job order
  try {
    names("a.wieght");
    FAIL() << "no such tensor";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean a.weight?"), std::string::npos);
  }
}

// The visits add up to the totals, and no byte that the demand's cells find is missing.
TEST(Transfers, VisitsAndTotalsAndDemandAgreeOnRandomJobs) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const Job job = job_from_text(testing::random_job(random), "job.yaml", "");
    OverlapLister lister(job.problem);
    const auto tensors = select_tensors(job.problem, std::nullopt);
    OverlapTotals visited;
    std::set<std::pair<Rank, Rank>> pairs;
    lister.visit(tensors, kNoLimit, [&](const Overlap& overlap) {
      ++visited.count;
      visited.bytes += overlap.bytes;
      pairs.emplace(overlap.holders.front(), overlap.destination);
      EXPECT_GT(overlap.source_runs, 0);
      EXPECT_GT(overlap.destination_runs, 0);
    });
    const OverlapTotals totals = lister.totals(tensors);
    EXPECT_EQ(totals.count, visited.count) << seed;
    EXPECT_EQ(totals.bytes, visited.bytes) << seed;
    EXPECT_EQ(totals.pairs, static_cast<std::int64_t>(pairs.size())) << seed;
    // Source boxes that differ may overlap, so elements can be counted more than once, never less.
    std::int64_t wanted = 0;
    for (const DemandClass& item : make_demand(job.problem).classes)
      wanted += item.bytes * static_cast<std::int64_t>(job.problem.sets.of(item.receivers).size());
    EXPECT_GE(totals.bytes, wanted) << seed;
  }
}

}  // namespace
}  // namespace transload
