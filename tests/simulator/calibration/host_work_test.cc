// Host work counted from plans small enough to count by hand.
#include "simulator/calibration/host_work.h"

#include <gtest/gtest.h>

#include <string>

#include "planner/job/job.h"
#include "planner/strategy/strategy.h"

namespace transload {
namespace {

// Two trainers and two receivers. Experts 0 and 1 of a layer lie whole on ranks 0 and 1; receivers
// cut their down projections in columns and their gate projections in rows; both ranks of the
// trainer hold the router.
const std::string kJob = R"(
topology: {nodes: [{count: 4, gpus: 1, gpu: h100, nic: 50GB/s}]}
strategy: p2p
tensors:
  - name: layers.0.experts.0.down_proj.weight
    shape: [64, 128]
    dtype: bf16
    source: {mesh: {x: 1}, placements: [R], ranks: 0}
    destination: {mesh: {y: 2}, placements: [S(1)], ranks: 2-3}
  - name: layers.0.experts.1.down_proj.weight
    shape: [64, 128]
    dtype: bf16
    source: {mesh: {x: 1}, placements: [R], ranks: 1}
    destination: {mesh: {y: 2}, placements: [S(1)], ranks: 2-3}
  - name: layers.0.experts.0.gate_proj.weight
    shape: [128, 64]
    dtype: bf16
    source: {mesh: {x: 1}, placements: [R], ranks: 0}
    destination: {mesh: {y: 2}, placements: [S(0)], ranks: 2-3}
  - name: layers.0.router.weight
    shape: [16, 16]
    dtype: bf16
    source: {mesh: {x: 2}, placements: [R], ranks: 0-1}
    destination: {mesh: {y: 2}, placements: [R], ranks: 2-3}
)";

HostWork work_of(const std::string& text) {
  return host_work(make_plan(job_from_text(text, "j", "")));
}

// 16,384 bytes a projection: a sender holds one of the two, a receiver half of each.
TEST(HostWork, TransposesWhatReceiversCutInColumnsAndSendersDoNot) {
  const HostWork work = work_of(kJob);
  EXPECT_DOUBLE_EQ(work[WorkUnit::kTransposedByte], 16384 + 16384);
}

TEST(HostWork, TransposesNothingWhereSendersCutColumnsToo) {
  std::string text = kJob;
  const std::string whole =
      "{mesh: {x: 1}, placements: [R], ranks: 0}\n    destination: {mesh: {y: 2}, placements: "
      "[S(1)]";
  const std::size_t at = text.find(whole);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string("{mesh: {x: 1}, placements: [R], ranks: 0}").size(),
               "{mesh: {x: 2}, placements: [S(1)], ranks: 0-1}");
  // Expert 1 is left: all of it on rank 1, half on each receiver.
  EXPECT_DOUBLE_EQ(work_of(text)[WorkUnit::kTransposedByte], 16384 + 8192);
}

// Runs of 256 KiB and more stay as they are: 131,072 columns of bf16 for each receiver.
TEST(HostWork, TransposesNoLongRuns) {
  const std::string text = R"(
topology: {nodes: [{count: 4, gpus: 1, gpu: h100, nic: 50GB/s}]}
strategy: p2p
tensors:
  - name: w
    shape: [4, 262144]
    dtype: bf16
    source: {mesh: {x: 2}, placements: [S(0)], ranks: 0-1}
    destination: {mesh: {y: 2}, placements: [S(1)], ranks: 2-3}
)";
  EXPECT_DOUBLE_EQ(work_of(text)[WorkUnit::kTransposedByte], 0);
}

// One stage of two ranks (the router joins them) and two receivers; three calls: down, gate,
// router.
TEST(HostWork, CallsTimesRanksOfTheCommunicator) {
  EXPECT_DOUBLE_EQ(work_of(kJob)[WorkUnit::kCallRank], 3 * (2 + 2));
}

}  // namespace
}  // namespace transload
