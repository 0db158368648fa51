// Growth of a side: nobody who is there moves, new engines take the next free nodes, library
// topologies grow.
#include "planner/job/more_gpus.h"

#include <gtest/gtest.h>

#include <numeric>

namespace transload::testing {
namespace {

std::string job_text(int nodes, const std::string& sides) {
  return "model: qwen3-4b\ntopology: {name: dgx-h100, nodes: " + std::to_string(nodes) + "}\n" +
         sides;
}

const std::string kSides =
    "source: {engine: megatron, gpus: 4, parallel: {tp: 2}}\n"
    "destination: {engine: vllm, gpus: 8, parallel: {tp: 4}}\n";

Job grown(const std::string& text, std::size_t side, std::int64_t gpus) {
  const Job job = job_from_text(text, "job.yaml", "");
  return job_from_text(edited_job(text, more_gpus(job, side, gpus, "")), "job.yaml", "");
}

std::vector<Rank> range(Rank first, Rank last) {
  std::vector<Rank> ranks(static_cast<std::size_t>(last - first) + 1);
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

TEST(MoreGpus, TakesTheNextFreeNode) {
  const Job job = grown(job_text(3, kSides), 1, 4);
  EXPECT_EQ(job.sides[0].ranks, range(0, 3));
  EXPECT_EQ(job.sides[1].ranks, range(8, 19));
  EXPECT_EQ(job.topology.nodes.size(), 3u);
}

TEST(MoreGpus, AsksForMoreNodesWhereThatIsANumber) {
  const Job job = grown(job_text(2, kSides), 1, 20);
  EXPECT_EQ(job.sides[1].ranks, range(8, 35));
  EXPECT_EQ(job.topology.nodes.size(), 5u);  // 28 GPUs beside the trainers' node: 4 nodes
}

// The first of two pools grows: without its nodes written down the second would move.
TEST(MoreGpus, MovesNoOtherPool) {
  const std::string pools =
      "source: {engine: megatron, gpus: 4, parallel: {tp: 2}}\n"
      "destination:\n"
      "  - {engine: vllm, gpus: 8, parallel: {tp: 4}}\n"
      "  - {engine: vllm, gpus: 4, parallel: {tp: 2}}\n";
  const Job job = grown(job_text(4, pools), 1, 4);
  EXPECT_EQ(job.sides[2].ranks, range(16, 19));
  std::vector<Rank> first = range(8, 15);
  for (const Rank rank : range(24, 27)) first.push_back(rank);
  EXPECT_EQ(job.sides[1].ranks, first);
}

TEST(MoreGpus, AvoidsNodesWithLostGpus) {
  const Job job = grown(job_text(3, kSides) + "without: {ranks: [20]}\n", 1, 4);
  EXPECT_EQ(job.topology.nodes.size(), 4u);
  EXPECT_EQ(job.sides[1].ranks.back(), 27);
  EXPECT_EQ(job.sides[1].ranks[8], 24);
}

TEST(MoreGpus, RefusesWhereNothingIsFree) {
  const std::string text =
      "model: qwen3-4b\n"
      "topology: {nodes: [{count: 2, gpus: 8, nic: 50GB/s, nvlink: 450GB/s}]}\n" +
      kSides;
  try {
    grown(text, 1, 4);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    for (const char* word : {"destination", "4 more GPUs", "0 are free"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace transload::testing
