// The switches that follow from a kind of fabric and a few numbers, and links between sites.
#include "topologies/fabric_form.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/topologies/loading.h"
#include "topologies/paths.h"

namespace transload {
namespace {

constexpr std::int64_t kGb = 1'000'000'000;

// `count` nodes of two GPUs with a NIC of 10 GB/s each.
Topology with_fabric(int count, const std::string& fabric) {
  return load(fmt::format(
      "topology: {{nodes: [{{count: {}, gpus: 2, nvlink: 100GB/s, nic: 10GB/s}}], efficiency: 1, "
      "latency: 0, fabric: {}}}",
      count, fabric));
}

const Switch& switch_called(const Topology& topology, const std::string& name) {
  for (const Switch& at : topology.switches)
    if (at.name == name) return at;
  ADD_FAILURE() << "no switch " << name;
  return topology.switches.front();
}

std::vector<std::string> names(const Topology& topology, std::int32_t tier) {
  std::vector<std::string> found;
  for (const Switch& at : topology.switches)
    if (at.tier == tier) found.push_back(at.name);
  return found;
}

std::string leaf_of(const Topology& topology, std::size_t nic) {
  return topology.switches[static_cast<std::size_t>(topology.nics[nic].leaf)].name;
}

std::string parent_of(const Topology& topology, const std::string& name) {
  const std::int32_t parent = switch_called(topology, name).parent;
  return parent < 0 ? "" : topology.switches[static_cast<std::size_t>(parent)].name;
}

TEST(FabricForm, NonBlockingIsOneSwitch) {
  for (const char* fabric : {"{}", "{kind: non-blocking}", "{oversubscription: 1}"}) {
    const Topology topology = with_fabric(3, fabric);
    EXPECT_EQ(topology.fabric_kind, "non-blocking");
    ASSERT_EQ(topology.switches.size(), 1U);
    EXPECT_EQ(topology.switches[0].name, "switch");
    EXPECT_TRUE(topology.switches[0].gateway);
    for (const Nic& nic : topology.nics) EXPECT_EQ(nic.leaf, 0);
  }
}

TEST(FabricForm, LeafSpinePutsAUnitOfNodesBelowALeaf) {
  const Topology topology = with_fabric(5, "{kind: leaf-spine, unit: 2}");
  EXPECT_THAT(names(topology, 1), testing::ElementsAre("leaf0", "leaf1", "leaf2"));
  EXPECT_THAT(names(topology, 2), testing::ElementsAre("spine"));
  EXPECT_EQ(leaf_of(topology, 3), "leaf0");
  EXPECT_EQ(leaf_of(topology, 4), "leaf1");
  EXPECT_EQ(leaf_of(topology, 9), "leaf2");
  EXPECT_EQ(parent_of(topology, "leaf2"), "spine");
  EXPECT_TRUE(switch_called(topology, "spine").gateway);
  EXPECT_FALSE(switch_called(topology, "leaf0").gateway);
  // Without oversubscription no up-link can be the bottleneck.
  EXPECT_EQ(switch_called(topology, "leaf0").uplink_rate, 0);
}

TEST(FabricForm, OversubscriptionNarrowsTheUplinkOfWhatHangsBelow) {
  const Topology topology = with_fabric(5, "{kind: leaf-spine, unit: 2, oversubscription: 2.5}");
  // Four NICs of 10 GB/s over 2.5; the last leaf has two.
  EXPECT_EQ(switch_called(topology, "leaf0").uplink_rate, 16 * kGb);
  EXPECT_EQ(switch_called(topology, "leaf2").uplink_rate, 8 * kGb);
}

TEST(FabricForm, RailOptimisedHasALeafPerRailAndUnit) {
  const Topology topology = with_fabric(4, "{kind: rail-optimised, unit: 3, oversubscription: 3}");
  EXPECT_THAT(names(topology, 1),
              testing::UnorderedElementsAre("leaf0.0", "leaf0.1", "leaf1.0", "leaf1.1"));
  EXPECT_EQ(leaf_of(topology, 5), "leaf0.1");  // NIC 1 of node 2
  EXPECT_EQ(leaf_of(topology, 6), "leaf1.0");  // NIC 0 of node 3
  EXPECT_EQ(parent_of(topology, "leaf1.1"), "spine");
  EXPECT_EQ(switch_called(topology, "leaf0.0").uplink_rate, 10 * kGb);  // 3 x 10 / 3
  EXPECT_EQ(switch_called(topology, "leaf1.0").uplink_rate, 3'333'333'333);
}

TEST(FabricForm, UnitsAreWhatIsHandedOutTogether) {
  const Topology topology = with_fabric(5, "{kind: rail-optimised, unit: 2}");
  std::vector<std::int32_t> blocks;
  for (const Node& node : topology.nodes) blocks.push_back(node.block);
  EXPECT_THAT(blocks, testing::ElementsAre(0, 0, 1, 1, 2));
}

TEST(FabricForm, RacksStayTheBlocksWhereADomainSpansNodes) {
  const Topology topology = load("topology: {name: gb200-nvl72, racks: 3}");
  EXPECT_EQ(topology.nodes[17].block, 0);
  EXPECT_EQ(topology.nodes[18].block, 1);
  EXPECT_EQ(topology.nodes[53].block, 2);
}

TEST(FabricForm, RailOnlyJoinsNoTwoRails) {
  const Topology whole = with_fabric(4, "{kind: rail-only}");
  EXPECT_THAT(names(whole, 1), testing::ElementsAre("leaf0.0", "leaf0.1"));
  for (const Switch& at : whole.switches) {
    EXPECT_EQ(at.parent, -1);
    EXPECT_FALSE(at.gateway);
  }
  const Topology units = with_fabric(4, "{kind: rail-only, unit: 2, oversubscription: 2}");
  EXPECT_THAT(names(units, 1), testing::ElementsAre("leaf0.0", "leaf0.1", "leaf1.0", "leaf1.1"));
  EXPECT_THAT(names(units, 2), testing::ElementsAre("rail0", "rail1"));
  EXPECT_EQ(parent_of(units, "leaf1.0"), "rail0");
  EXPECT_EQ(switch_called(units, "leaf1.0").uplink_rate, 10 * kGb);  // two NICs over 2
  EXPECT_FALSE(path_between_nics(units, 0, 7));
  EXPECT_TRUE(path_between_nics(units, 0, 6));
}

TEST(FabricForm, PodsHangBelowACore) {
  const Topology topology = with_fabric(
      8, "{kind: leaf-spine, unit: 1, pod: 2, oversubscription: 2, core_oversubscription: 4}");
  EXPECT_EQ(names(topology, 1).size(), 8U);
  EXPECT_THAT(names(topology, 2), testing::ElementsAre("spine0", "spine1", "spine2", "spine3"));
  EXPECT_THAT(names(topology, 3), testing::ElementsAre("core"));
  EXPECT_EQ(parent_of(topology, "leaf3"), "spine1");
  EXPECT_EQ(parent_of(topology, "spine1"), "core");
  EXPECT_EQ(switch_called(topology, "leaf3").uplink_rate, 10 * kGb);  // 2 x 10 / 2
  EXPECT_EQ(switch_called(topology, "spine1").uplink_rate, 5 * kGb);  // 4 x 10 / 2 / 4
  EXPECT_FALSE(switch_called(topology, "spine1").gateway);
  EXPECT_TRUE(switch_called(topology, "core").gateway);
}

TEST(FabricForm, EveryPlaneIsANetworkOfItsOwn) {
  const Topology topology = load(
      "topology: {nodes: [{count: 2, gpus: 2, nics_per_gpu: 2, nic: 10GB/s}],"
      " fabric: {kind: leaf-spine, unit: 1, planes: 2}}");
  std::vector<std::string> roots;
  for (const Switch& at : topology.switches)
    if (at.parent < 0) roots.push_back(at.name);
  EXPECT_EQ(roots.size(), 2U);
  EXPECT_EQ(topology.nics[4].plane, 0);
  EXPECT_EQ(topology.nics[5].plane, 1);
  EXPECT_NE(topology.nics[4].leaf, topology.nics[5].leaf);
  EXPECT_EQ(topology.nics[4].leaf, topology.nics[6].leaf);
}

TEST(FabricForm, UplinksReachTheShareOfTheirNics) {
  const Topology topology = load(
      "topology: {nodes: [{count: 2, gpus: 1, nic: 10GB/s, efficiency: {nic: 0.5}}],"
      " fabric: {kind: leaf-spine, unit: 1, oversubscription: 2}}");
  EXPECT_EQ(topology.switches[0].uplink_efficiency_ppm, 500'000);
  EXPECT_EQ(gpu_paths(topology, 0, 1)[0].rate, 2'500'000'000);
}

TEST(FabricForm, SitesHaveSwitchesOfTheirOwn) {
  const Topology topology = load(
      "topology:\n"
      "  nodes: [{count: 2, gpus: 1, nic: 10GB/s, site: a}, {count: 3, gpus: 1, nic: 10GB/s, "
      "site: b}]\n"
      "  fabric: {kind: leaf-spine, unit: 2}\n");
  EXPECT_THAT(names(topology, 1), testing::ElementsAre("a.leaf0", "b.leaf0", "b.leaf1"));
  EXPECT_THAT(names(topology, 2), testing::UnorderedElementsAre("a.spine", "b.spine"));
  EXPECT_FALSE(path_between_nics(topology, 0, 2));
}

constexpr const char* kPublished =
    "{{kind: rail-optimised, unit: 2, oversubscription: {}, published: {{source: a table, "
    "nics_per_node: 2, units: [{{units: 1, tiers: [4, 2]}}, {{units: 3, tiers: [9, 8, 7]}}]}}}}";

TEST(FabricForm, PublishedCountsAreThoseOfAsManyUnits) {
  const auto tiers = [](int nodes, const char* oversubscription) {
    const Topology topology =
        with_fabric(nodes, fmt::format(fmt::runtime(kPublished), oversubscription));
    EXPECT_EQ(topology.published_switches.source,
              topology.published_switches.tiers.empty() ? "" : "a table");
    return topology.published_switches.tiers;
  };
  EXPECT_THAT(tiers(1, "1"), testing::ElementsAre(4, 2));
  EXPECT_THAT(tiers(2, "1"), testing::ElementsAre(4, 2));
  EXPECT_THAT(tiers(3, "1"), testing::IsEmpty());  // two units: not in the table
  EXPECT_THAT(tiers(5, "1"), testing::ElementsAre(9, 8, 7));
  EXPECT_THAT(tiers(2, "2"), testing::IsEmpty());  // another fabric than the published one
}

constexpr const char* kTwoSites =
    "topology:\n"
    "  nodes: [{gpus: 1, nic: 10GB/s, site: a}, {gpus: 1, nic: 10GB/s, site: b}, {gpus: 1, nic: "
    "10GB/s, site: c}]\n"
    "  efficiency: 1\n"
    "  latency: 0\n";

TEST(WanLinks, JoinTwoSitesBothWays) {
  const Topology topology =
      load(std::string(kTwoSites) + "  links: [{between: [b, a], rate: 5GB/s, latency: 20ms}]\n");
  ASSERT_EQ(topology.wan_links.size(), 1U);
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    const auto paths = gpu_paths(topology, from, to);
    ASSERT_EQ(paths.size(), 1U);
    EXPECT_EQ(paths[0].network.wan, 0);
    EXPECT_EQ(paths[0].rate, 5 * kGb);
    EXPECT_EQ(paths[0].latency_ps, 20'000'000'000);
  }
  EXPECT_EQ(path_text(topology, 0, 1, gpu_paths(topology, 0, 1)[0]),
            "gpu0 -> node0.nic0 -> a.switch -> (link between sites) -> b.switch -> node1.nic0 -> "
            "gpu1");
  EXPECT_TRUE(gpu_paths(topology, 0, 2).empty());
}

TEST(WanLinks, ScaleWithAllRates) {
  const Topology topology = load(std::string(kTwoSites) +
                                 "  rate_scale: 0.5\n  links: [{between: [a, b], rate: 5GB/s}]\n");
  EXPECT_EQ(topology.wan_links[0].rate, 2'500'000'000);
  EXPECT_EQ(topology.wan_links[0].latency_ps, 0);
}

}  // namespace
}  // namespace transload
