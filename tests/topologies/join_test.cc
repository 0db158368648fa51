// Several topologies as one cluster: cores between their fabrics, sites, and links between sites.
#include "topologies/join.h"

#include <gmock/gmock.h>

#include "tests/topologies/loading.h"
#include "topologies/paths.h"

namespace transload {
namespace {

constexpr std::int64_t kGb = 1'000'000'000;

TEST(Join, PartsOfOneSiteMeetInACore) {
  const Topology topology =
      load("topology: [{name: dgx-h100, nodes: 1}, {name: gb200-nvl72, racks: 1}]");
  const auto paths = gpu_paths(topology, 0, 8);
  ASSERT_FALSE(paths.empty());
  EXPECT_EQ(paths[0].kind, GpuPath::Kind::kNetwork);
  EXPECT_EQ(paths[0].rate, 47'500'000'000);
  // Leaf, spine, core, spine, leaf: four more than the first, of 0.6 us each.
  EXPECT_EQ(paths[0].latency_ps, 15'000'000 + 4 * 600'000);
  EXPECT_EQ(path_text(topology, 0, 8, paths[0]),
            "gpu0 -> node0.nic0 -> [0].leaf0.0 -> [0].spine -> core -> [1].spine -> [1].leaf0.0 -> "
            "node1.nic0 -> "
            "gpu8");
  std::int64_t roots = 0;
  for (const Switch& at : topology.switches) roots += at.parent < 0 ? 1 : 0;
  EXPECT_EQ(roots, 1);
}

TEST(Join, PartsKeepTheirOwnEfficiencies) {
  const Topology topology =
      load("topology: [{name: dgx-h100, nodes: 1}, {name: aws-p5, nodes: 1}]");
  EXPECT_EQ(nic_costs(topology, topology.nics[0]).efficiency_ppm, 950'000);
  EXPECT_EQ(nic_costs(topology, topology.nics[8]).efficiency_ppm, 880'000);
  EXPECT_EQ(gpu_paths(topology, 0, 8)[0].rate, 11 * kGb);  // 12.5 x 0.88
  EXPECT_EQ(gpu_paths(topology, 0, 8)[0].latency_ps, 30'000'000 + 4 * 600'000);
}

TEST(Join, SitesMeetOnlyWhereALinkJoinsThem) {
  const std::string parts =
      "topology:\n"
      "  - {name: dgx-h100, nodes: 1, site: berlin}\n"
      "  - {name: hgx-h20, nodes: 1, site: paris}\n"
      "  - {name: hgx-h20, nodes: 1, site: berlin}\n";
  const Topology apart = load(parts);
  ASSERT_EQ(apart.sites.size(), 2U);
  EXPECT_TRUE(gpu_paths(apart, 0, 8).empty());
  EXPECT_EQ(gpu_paths(apart, 0, 16)[0].rate, 47'500'000'000);
  const Topology joined =
      load(parts + "  - {links: [{between: [paris, berlin], rate: 5GB/s, latency: 20ms}]}\n");
  for (std::int32_t from : {0, 16}) {
    const auto paths = gpu_paths(joined, from, 8);
    ASSERT_FALSE(paths.empty());
    EXPECT_EQ(paths[0].rate, 5 * kGb);
    EXPECT_GT(paths[0].latency_ps, 20'000'000'000);
  }
}

TEST(Join, PublishedCountsAreLostAndConstantsKeepTheirPart) {
  const Topology topology =
      load("topology: [{name: superpod-h100, nodes: 31}, {name: dgx-a100, nodes: 1}]");
  EXPECT_TRUE(topology.published_switches.tiers.empty());
  std::vector<std::string> names;
  for (const SourcedConstant& constant : topology.constants) names.push_back(constant.name);
  EXPECT_THAT(names, testing::IsSupersetOf({"[0].nodes[0].nic", "[1].nodes[0].nic"}));
}

}  // namespace
}  // namespace transload
