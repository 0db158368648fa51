// Ways between GPUs, in words and in rates.
#include "topologies/paths.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/topologies/loading.h"

namespace transload {
namespace {

constexpr std::int64_t kUs = 1'000'000;  // picoseconds

std::vector<std::string> texts(const Topology& topology, std::int32_t from, std::int32_t to) {
  std::vector<std::string> found;
  for (const GpuPath& path : gpu_paths(topology, from, to))
    found.push_back(path_text(topology, from, to, path));
  return found;
}

// `nodes` nodes of `gpus` GPUs with one NIC each, on rails that meet nowhere.
Topology rail_only(int nodes, int gpus, const char* nvlink = "nvlink: 450GB/s, ") {
  return load(fmt::format(
      "topology: {{nodes: [{{count: {}, gpus: {}, {}nic: 50GB/s}}], fabric: {{kind: rail-only}}}}",
      nodes, gpus, nvlink));
}

TEST(GpuPaths, ToItselfAndInsideADomain) {
  const Topology topology = load("topology: {name: dgx-h100, nodes: 2}");
  const auto self = gpu_paths(topology, 3, 3);
  ASSERT_EQ(self.size(), 1U);
  EXPECT_EQ(self[0].kind, GpuPath::Kind::kSelf);
  EXPECT_EQ(path_text(topology, 3, 3, self[0]), "gpu3 (itself)");
  const auto near = gpu_paths(topology, 0, 5);
  ASSERT_FALSE(near.empty());
  EXPECT_EQ(near[0].kind, GpuPath::Kind::kNvlink);
  EXPECT_EQ(near[0].rate, 369'000'000'000);  // 450 x 0.82
  EXPECT_EQ(near[0].latency_ps, 4 * kUs);
  EXPECT_EQ(path_text(topology, 0, 5, near[0]), "gpu0 -NVLink-> gpu5");
}

TEST(GpuPaths, GpusThatDoNotExistAreRefused) {
  const Topology topology = load("topology: {name: dgx-h100, nodes: 1}");
  EXPECT_THROW(gpu_paths(topology, 0, 8), InputError);
  EXPECT_THROW(gpu_paths(topology, -1, 0), InputError);
}

TEST(GpuPaths, SameRailPassesOneSwitch) {
  const Topology topology = load("topology: {name: dgx-h100, nodes: 2}");
  const auto paths = gpu_paths(topology, 5, 13);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(path_text(topology, 5, 13, paths[0]),
            "gpu5 -> node0.nic5 -> leaf0.5 -> node1.nic5 -> gpu13");
  EXPECT_EQ(paths[0].rate, 47'500'000'000);  // 50 x 0.95
  EXPECT_EQ(paths[0].latency_ps, 15 * kUs);
}

TEST(GpuPaths, RC123_AnotherNicIsReachedOverNvlink) {
  // NIC i serves GPU i only; GPU 0 of the first node wants GPU 1 of the second.
  const Topology topology = rail_only(2, 2);
  EXPECT_THAT(
      texts(topology, 0, 3),
      testing::ElementsAre("gpu0 -NVLink-> gpu1 -> node0.nic1 -> leaf0.1 -> node1.nic1 -> gpu3",
                           "gpu0 -> node0.nic0 -> leaf0.0 -> node1.nic0 -> gpu2 -NVLink-> gpu3"));
}

TEST(GpuPaths, RC124_RailOnlyNeverLeavesItsRail) {
  const Topology topology = rail_only(2, 4);
  EXPECT_THAT(
      texts(topology, 0, 7),
      testing::ElementsAre("gpu0 -NVLink-> gpu3 -> node0.nic3 -> leaf0.3 -> node1.nic3 -> gpu7",
                           "gpu0 -> node0.nic0 -> leaf0.0 -> node1.nic0 -> gpu4 -NVLink-> gpu7"));
  for (std::int32_t from = 0; from < 4; ++from)
    for (std::int32_t to = 4; to < 8; ++to)
      for (const GpuPath& path : gpu_paths(topology, from, to)) {
        EXPECT_EQ(topology.nics[static_cast<std::size_t>(path.nic_out)].rail,
                  topology.nics[static_cast<std::size_t>(path.nic_in)].rail);
        EXPECT_EQ(path.rate, 47'500'000'000);
        EXPECT_EQ(path.latency_ps, (from == to - 4 ? 15 : 19) * kUs);
      }
}

TEST(GpuPaths, RC124_APairWithNoCommonRailHasNoWay) {
  const Topology topology = load(
      "topology:\n"
      "  nodes:\n"
      "    - {gpus: 2, nvlink: 450GB/s, nics: [{rate: 50GB/s, rail: 0, gpus: [0]}, {rate: 50GB/s, "
      "rail: 1, gpus: [1]}]}\n"
      "    - {gpus: 2, nvlink: 450GB/s, nics: [{rate: 50GB/s, rail: 2, gpus: [0]}, {rate: 50GB/s, "
      "rail: 3, gpus: [1]}]}\n"
      "  fabric: {kind: rail-only}\n");
  for (std::int32_t from = 0; from < 2; ++from)
    for (std::int32_t to = 2; to < 4; ++to) EXPECT_TRUE(gpu_paths(topology, from, to).empty());
  // Nor is there one without NVLink, where only the rail itself is left.
  EXPECT_TRUE(gpu_paths(rail_only(2, 4, ""), 0, 7).empty());
  EXPECT_EQ(gpu_paths(rail_only(2, 4, ""), 0, 4).size(), 1U);
}

TEST(GpuPaths, RC126_CrossRailGoesOverTheSpineOrOverNvlink) {
  const Topology topology = load("topology: {name: dgx-h100, nodes: 2}");
  const auto paths = gpu_paths(topology, 0, 13);
  EXPECT_THAT(texts(topology, 0, 13),
              testing::ElementsAre(
                  "gpu0 -> node0.nic0 -> leaf0.0 -> spine -> leaf0.5 -> node1.nic5 -> gpu13",
                  "gpu0 -NVLink-> gpu5 -> node0.nic5 -> leaf0.5 -> node1.nic5 -> gpu13",
                  "gpu0 -> node0.nic0 -> leaf0.0 -> node1.nic0 -> gpu8 -NVLink-> gpu13"));
  ASSERT_EQ(paths.size(), 3U);
  // Two further switches of 0.6 us each, or one NVLink hop of 4 us.
  EXPECT_EQ(paths[0].latency_ps, 15 * kUs + 2 * 600'000);
  EXPECT_EQ(paths[1].latency_ps, 19 * kUs);
  EXPECT_EQ(paths[2].latency_ps, 19 * kUs);
}

TEST(GpuPaths, RC127_SameAndCrossRailHopsHaveTheirOwnLinks) {
  const Topology topology = load(
      "topology: {nodes: [{count: 2, gpus: 2, nic: 10GB/s}], efficiency: 1, latency: 0,"
      " fabric: {kind: rail-optimised, unit: 2, oversubscription: 4}}");
  const auto same = gpu_paths(topology, 0, 2);
  const auto cross = gpu_paths(topology, 0, 3);
  ASSERT_FALSE(same.empty());
  ASSERT_FALSE(cross.empty());
  EXPECT_TRUE(same[0].network.up.empty());
  EXPECT_TRUE(same[0].network.down.empty());
  EXPECT_EQ(same[0].rate, 10'000'000'000);
  const std::int32_t leaf0 = topology.nics[0].leaf;
  const std::int32_t leaf1 = topology.nics[3].leaf;
  EXPECT_THAT(cross[0].network.up, testing::ElementsAre(leaf0));
  EXPECT_THAT(cross[0].network.down, testing::ElementsAre(leaf1));
  // Two NICs of 10 GB/s hang at a leaf, a quarter of that goes up.
  EXPECT_EQ(cross[0].rate, 5'000'000'000);
}

TEST(GpuPaths, RC141_ADomainInPoorHealthHasLessNvlinkAndTheNetworkBeside) {
  // Health mask 0xaa: half of the links of each GPU are down.
  const char* nodes =
      "topology: {{nodes: [{{count: 12, gpus: 4, nvlink: 900GB/s, nvlink_domain: rack, nic: 50GB/s"
      "{}}}]}}";
  const Topology whole = load(fmt::format(fmt::runtime(nodes), ""));
  const Topology half = load(fmt::format(fmt::runtime(nodes), ", nvlink_health: 0.5"));
  const auto paths = gpu_paths(half, 0, 47);
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0].kind, GpuPath::Kind::kNvlink);
  EXPECT_EQ(paths[0].rate * 2, gpu_paths(whole, 0, 47)[0].rate);
  EXPECT_EQ(paths[0].rate, 369'000'000'000);  // 900 x 0.5 x 0.82
  EXPECT_EQ(paths[1].kind, GpuPath::Kind::kNetwork);
}

TEST(GpuPaths, IslandsOfANodeReachEachOtherOverTheNetworkOnly) {
  const Topology topology = load(
      "topology: {nodes: [{gpus: 4, nvlink: 450GB/s, nic: 50GB/s, nvlink_islands: [[0, 1], [2, "
      "3]]}]}");
  EXPECT_EQ(gpu_paths(topology, 0, 1)[0].kind, GpuPath::Kind::kNvlink);
  const auto across = gpu_paths(topology, 1, 2);
  ASSERT_EQ(across.size(), 1U);
  EXPECT_EQ(across[0].kind, GpuPath::Kind::kNetwork);
  EXPECT_EQ(path_text(topology, 1, 2, across[0]),
            "gpu1 -> node0.nic1 -> switch -> node0.nic2 -> gpu2");
}

TEST(GpuPaths, PlanesDoNotMeet) {
  const Topology topology = load(
      "topology: {nodes: [{count: 2, gpus: 1, nics_per_gpu: 2, nic: 50GB/s}],"
      " fabric: {kind: rail-optimised, planes: 2}}");
  EXPECT_TRUE(path_between_nics(topology, 0, 2));
  EXPECT_TRUE(path_between_nics(topology, 1, 3));
  EXPECT_FALSE(path_between_nics(topology, 0, 3));
  EXPECT_FALSE(path_between_nics(topology, 1, 2));
}

TEST(GpuPaths, TheSlowerEndAndTheSlowerLatencyCount) {
  const Topology topology = load(
      "topology: {nodes: [{gpus: 1, nic: 50GB/s, efficiency: {nic: 0.5}},"
      " {gpus: 1, nic: 12GB/s, latency: {nic: {latency: 30us}}}]}");
  const auto paths = gpu_paths(topology, 0, 1);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(paths[0].rate, 11'400'000'000);  // 12 x 0.95 is less than 50 x 0.5
  EXPECT_EQ(paths[0].latency_ps, 30 * kUs);
}

TEST(GpuPaths, PcieUplinksCountWhereGpuAndNicHangApart) {
  const Topology topology = load(
      "topology:\n"
      "  nodes:\n"
      "    - count: 2\n"
      "      gpus: 2\n"
      "      nics: [{name: near, rate: 50GB/s, gpus: [0, 1]}]\n"
      "      pcie: [{gpus: [0], nics: [near], uplink: 20GB/s}, {gpus: [1], uplink: 16GB/s}]\n"
      "  efficiency: 1\n");
  EXPECT_EQ(gpu_paths(topology, 0, 2)[0].rate, 50'000'000'000);
  EXPECT_EQ(gpu_paths(topology, 0, 3)[0].rate, 16'000'000'000);
  EXPECT_EQ(gpu_paths(topology, 1, 2)[0].rate, 16'000'000'000);
}

TEST(GpuPaths, ThroughACoreEverySwitchButTheFirstAddsItsLatency) {
  const Topology topology = load(
      "topology: {nodes: [{count: 4, gpus: 1, nic: 10GB/s}], efficiency: 1,"
      " latency: {nic: {latency: 10us}, switch: {latency: 1us}},"
      " fabric: {kind: leaf-spine, unit: 1, pod: 2}}");
  EXPECT_THAT(texts(topology, 0, 3),
              testing::ElementsAre("gpu0 -> node0.nic0 -> leaf0 -> spine0 -> core -> spine1 -> "
                                   "leaf3 -> node3.nic0 -> gpu3"));
  EXPECT_EQ(gpu_paths(topology, 0, 3)[0].latency_ps, 14 * kUs);
  EXPECT_EQ(gpu_paths(topology, 0, 1)[0].latency_ps, 12 * kUs);
}

}  // namespace
}  // namespace transload
