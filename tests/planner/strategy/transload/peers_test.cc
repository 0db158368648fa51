// options.max_peers: how many ranks one rank talks to over the network.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/units.h"
#include "tests/planner/strategy/small_jobs.h"

namespace transload {
namespace {

// `nodes` nodes of four GPUs; rows over all ranks of the first half to columns over the second.
Job peer_job(int nodes, const std::string& options, const std::string& fabric = "non-blocking") {
  const int half = 4 * nodes / 2;
  return job_from_text(
      fmt::format("topology:\n  efficiency: 1\n  latency: 0\n  nodes: [{{count: {0}, gpus: 4, "
                  "nvlink: 90B/s, nic: 1B/s}}]\n  fabric: {{kind: {5}}}\ntensors:\n"
                  "  - {{name: w, shape: [64, 64], dtype: uint8, source: {{mesh: {{x: {1}}}, "
                  "placements: [S(0)], ranks: 0-{2}}}, destination: {{mesh: {{x: {1}}}, "
                  "placements: [S(1)], ranks: {1}-{3}}}}}\n{4}",
                  nodes, half, half - 1, 2 * half - 1, options, fabric),
      "job.yaml", "");
}

std::string limit(int peers) { return fmt::format("options: {{max_peers: {}}}\n", peers); }

std::uint64_t peers_of(const Job& job, Discipline discipline = Discipline::kWindows) {
  return plan_totals(testing::plan_of(job, job.strategy, discipline)).max_peers;
}

TEST(MaxPeers, WithoutALimitEveryRankTalksToAllThatHoldSomething) {
  EXPECT_EQ(peers_of(peer_job(4, "")), 8u);
  EXPECT_EQ(peers_of(peer_job(4, limit(8))), 8u);
}

TEST(MaxPeers, IsKeptAndCostsNothingWhileDomainsArePaired) {
  // Two domains on each side: four ranks of a domain share two neighbours. With 2 peers a rank
  // talks to one rank of each of them, and all NICs stay evenly used: 8 x 512 bytes, 512 a NIC.
  for (const int peers : {2, 3, 4, 6})
    for (const Discipline discipline : {Discipline::kWindows, Discipline::kGroups}) {
      const Job job = peer_job(4, limit(peers));
      EXPECT_LE(peers_of(job, discipline), static_cast<std::uint64_t>(peers));
      const Plan plan = testing::plan_of(job, job.strategy, discipline);
      EXPECT_LE(ideal_seconds(plan), 1.02 * to_seconds(prepare(job).bounds.bound_ps)) << peers;
    }
}

TEST(MaxPeers, OneSufficesWhereRanksOutnumberNeighbours) {
  // Two neighbours and four ranks a domain: two ranks for each neighbour.
  const Job job = peer_job(4, limit(1));
  EXPECT_EQ(peers_of(job), 1u);
  EXPECT_LE(ideal_seconds(testing::plan_of(job, job.strategy)), 512 * 1.02);
}

TEST(MaxPeers, TooFewIsRefusedWithTheLeastThatCan) {
  // Eight domains on each side, four ranks each: a domain has eight neighbours, two a rank.
  EXPECT_EQ(peers_of(peer_job(16, limit(2))), 2u);
  try {
    peers_of(peer_job(16, limit(1)));
    FAIL() << "not refused";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("options.max_peers"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("at least 2"));
  }
}

TEST(MaxPeers, HoldsOnRailsToo) { EXPECT_LE(peers_of(peer_job(8, limit(2), "rail-only")), 2u); }

TEST(MaxPeers, ReplicasLetADestinationAskFewSources) {
  // 16 single-GPU nodes hold everything, one wants it: at the bound it hears from all, with a limit
  // from as many as it may.
  const auto job = [](const std::string& options) {
    return job_from_text(
        "topology: {efficiency: 1, latency: 0, nodes: [{count: 16, gpus: 1, nic: 1B/s}, {gpus: 1, "
        "nic: 16B/s}]}\ntensors:\n  - {name: w, shape: [1600], dtype: uint8, source: {mesh: {x: "
        "16}, placements: [R], ranks: 0-15}, destination: {mesh: {x: 1}, placements: [R], ranks: "
        "16}}\n" +
            options,
        "job.yaml", "");
  };
  EXPECT_EQ(peers_of(job("")), 16u);
  EXPECT_EQ(peers_of(job(limit(1))), 1u);
}

TEST(MaxPeers, OnlyWholeNumbersFromOneOrNone) {
  EXPECT_NO_THROW(peer_job(2, "options: {max_peers: none}\n"));
  for (const char* bad : {"0", "-1", "few", "1.5"})
    EXPECT_THROW(peer_job(2, fmt::format("options: {{max_peers: {}}}\n", bad)), InputError) << bad;
}

}  // namespace
}  // namespace transload
