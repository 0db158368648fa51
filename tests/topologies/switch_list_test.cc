// A fabric as a list of switches, as importers write it.
#include "topologies/switch_list.h"

#include <gmock/gmock.h>

#include "tests/topologies/loading.h"
#include "topologies/paths.h"

namespace transload {
namespace {

constexpr std::int64_t kGb = 1'000'000'000;

// Two NICs a node; the first two nodes on leaves a and b by NIC, the third as a whole on leaf c.
constexpr const char* kList =
    "topology:\n"
    "  nodes: [{name: 'srv[1-3]', gpus: 2, nic: 10GB/s}]\n"
    "  efficiency: 0.5\n"
    "  latency: {nic: {latency: 10us}, switch: {latency: 1us}}\n"
    "  fabric:\n"
    "    kind: switches\n"
    "    switches:\n"
    "      - {name: top}\n"
    "      - {name: mid, parent: top, uplink: 15GB/s, latency: 3us}\n"
    "      - {name: a, parent: mid, uplink: 8GB/s, nics: [srv1.nic0, srv2.nic0]}\n"
    "      - {name: b, parent: mid, nics: [srv1.nic1, srv2.nic1]}\n"
    "      - {name: c, parent: top, uplink: 4GB/s, nodes: srv3}\n";

TEST(SwitchList, HangsNicsAndNodesAtTheirSwitches) {
  const Topology topology = load(kList);
  EXPECT_EQ(topology.fabric_kind, "switches");
  ASSERT_EQ(topology.switches.size(), 5U);
  std::vector<std::int32_t> leaves;
  for (const Nic& nic : topology.nics) leaves.push_back(nic.leaf);
  EXPECT_THAT(leaves, testing::ElementsAre(2, 3, 2, 3, 4, 4));
  std::vector<std::int32_t> parents;
  std::vector<std::int32_t> tiers;
  for (const Switch& at : topology.switches) {
    parents.push_back(at.parent);
    tiers.push_back(at.tier);
  }
  EXPECT_THAT(parents, testing::ElementsAre(-1, 0, 1, 1, 0));
  EXPECT_THAT(tiers, testing::ElementsAre(3, 2, 1, 1, 1));
  EXPECT_TRUE(topology.switches[0].gateway);
  EXPECT_EQ(topology.switches[1].uplink_rate, 15 * kGb);
  EXPECT_EQ(topology.switches[3].uplink_rate, 0);
  EXPECT_EQ(topology.switches[1].latency_ps, 3'000'000);
  EXPECT_EQ(topology.switches[2].latency_ps, 1'000'000);
}

TEST(SwitchList, WaysTurnAtTheLowestCommonSwitch) {
  const Topology topology = load(kList);
  const auto near = gpu_paths(topology, 0, 3);  // a to b over mid
  ASSERT_EQ(near.size(), 1U);
  EXPECT_EQ(path_text(topology, 0, 3, near[0]),
            "gpu0 -> srv1.nic0 -> a -> mid -> b -> srv2.nic1 -> gpu3");
  EXPECT_EQ(near[0].rate, 4 * kGb);  // 8 x 0.5
  EXPECT_EQ(near[0].latency_ps, 14'000'000);
  const auto far = gpu_paths(topology, 1, 4);  // b to c over mid and top
  ASSERT_EQ(far.size(), 1U);
  EXPECT_EQ(path_text(topology, 1, 4, far[0]),
            "gpu1 -> srv1.nic1 -> b -> mid -> top -> c -> srv3.nic0 -> gpu4");
  EXPECT_EQ(far[0].rate, 2 * kGb);  // 4 x 0.5
  EXPECT_EQ(far[0].latency_ps, 15'000'000);
}

TEST(SwitchList, TwoTreesDoNotReachEachOther) {
  const Topology topology = load(
      "topology:\n"
      "  nodes: [{count: 2, gpus: 1, nic: 10GB/s}]\n"
      "  fabric: {kind: switches, switches: [{name: x, nodes: node0}, {name: y, nodes: node1}]}\n");
  EXPECT_TRUE(gpu_paths(topology, 0, 1).empty());
}

std::string refused(const std::string& switches) {
  return refusal(
      "topology:\n  nodes: [{count: 2, gpus: 1, nic: 10GB/s}]\n  fabric: {kind: switches, "
      "switches: [" +
      switches + "]}");
}

TEST(SwitchList, RefusesWhatContradictsItself) {
  const std::string at = "job.yaml:3: topology.fabric.switches";
  EXPECT_EQ(refused(""), at + ": expected at least one switch");
  EXPECT_EQ(refused("{name: x, nodes: node0}"), at + ": NIC nic0 of node node1 hangs at no switch");
  EXPECT_EQ(refused("{name: x, nodes: 'node[0-2]'}"), at + "[0].nodes: no node is called node2");
  EXPECT_EQ(refused("{name: x, nodes: node0}, {name: y, nodes: 'node[0-1]'}"),
            at + "[1].nodes: NIC nic0 hangs at x already");
  EXPECT_EQ(refused("{name: x, nics: [node0]}"),
            at + "[0].nics[0]: expected NODE.NIC, found node0");
  EXPECT_EQ(refused("{name: x, nics: [node0.nic1]}"),
            at + "[0].nics[0]: node node0 has no NIC nic1");
  EXPECT_EQ(refused("{name: x, nodes: 'node[0-1]'}, {name: x}"),
            at + "[1].name: a switch x is there already");
  EXPECT_EQ(refused("{name: x, parent: z, nodes: 'node[0-1]'}"),
            at + "[0].parent: no switch z in the list");
  EXPECT_EQ(refused("{name: x, uplink: 4GB/s, nodes: 'node[0-1]'}"),
            at + "[0].uplink: a switch without `parent:` has no up-link");
  EXPECT_EQ(refused("{name: x, parent: y, uplink: 0, nodes: 'node[0-1]'}, {name: y}"),
            at + "[0].uplink: expected a rate above 0");
  EXPECT_EQ(refused("{name: x, latency: 2min, nodes: 'node[0-1]'}"),
            at + "[0].latency: expected a time of at most 60 s");
  EXPECT_EQ(refused("{name: x, parent: y, nodes: 'node[0-1]'}, {name: y, parent: z}, {name: z, "
                    "parent: y}"),
            at + "[0]: the parents of this switch go round in a circle");
  EXPECT_EQ(refused("{name: x, parents: y}"),
            at + "[0].parents: unknown key (did you mean parent?)");
}

}  // namespace
}  // namespace transload
