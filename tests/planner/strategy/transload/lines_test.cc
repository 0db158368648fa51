#include "planner/strategy/transload/lines.h"

#include <gtest/gtest.h>

#include "planner/job/job.h"

namespace transload {
namespace {

// One tensor of 4 x 300 x 10 elements from one rank to another, cut by rows on the source side so
// that a shard begins at row 100: blocks of 128 rows begin at rows 128 and 256 of every matrix.
struct Cuts {
  explicit Cuts(const std::string& dtype)
      : job(job_from_text("topology: {efficiency: 1, latency: 0, nodes: [{count: 3, gpus: 1, nic: "
                          "1B/s}]}\ntensors:\n  - {name: w, shape: [4, 300, 10], dtype: " +
                              dtype +
                              ", source: {mesh: {x: 2}, placements: [S(1)], ranks: 0-1, sizes: {1: "
                              "[100, 200]}}, destination: {mesh: {x: 1}, placements: [R], ranks: "
                              "2}}\n",
                          "job.yaml", "")),
        demand(make_demand(job.problem)),
        cuts(job.problem, demand) {}
  Job job;
  Demand demand;
  ClassCuts cuts;
};

TEST(ClassCuts, KeepQuantisationBlocksWhole) {
  const Cuts fp8("fp8-e4m3");
  ASSERT_EQ(fp8.demand.classes.size(), 2u);
  ASSERT_EQ(fp8.demand.classes[1].bytes, 4 * 200 * 10);
  const std::int64_t matrix = 200 * 10;  // rows 100 to 300 of one matrix
  // Row 128 is the 28th of the shard, row 256 the 156th.
  EXPECT_EQ(fp8.cuts.near(1, 333, 60), 280);
  EXPECT_EQ(fp8.cuts.near(1, 1400, 200), 1560);
  EXPECT_EQ(fp8.cuts.near(1, matrix + 333, 60), matrix + 280);
  EXPECT_EQ(fp8.cuts.near(1, matrix + 60, 100), matrix) << "between two matrices";
  // The next border is too far away: a row does.
  EXPECT_EQ(fp8.cuts.near(1, 333, 20), 330);
  // The first class begins at row 0.
  EXPECT_EQ(fp8.cuts.near(0, 700, 400), 1000) << "its matrices have 100 rows: less than a block";
}

TEST(ClassCuts, OtherTypesAreCutBetweenRows) {
  const Cuts bytes("uint8");
  EXPECT_EQ(bytes.cuts.near(1, 333, 20), 330);
  EXPECT_EQ(bytes.cuts.near(1, 3, 8000), 0) << "between tensors";
}

}  // namespace
}  // namespace transload
