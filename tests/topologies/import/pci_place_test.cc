// Distances in a PCI tree: the classes of `nvidia-smi topo` by hand, and random trees against a
// walk that counts bridges.
#include "topologies/import/pci_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace transload {
namespace {

constexpr BridgeForm kSwitch = BridgeForm::kSwitch;
constexpr BridgeForm kPort = BridgeForm::kPort;

PciPlace place(std::int32_t socket, std::int32_t host_bridge, std::vector<std::int32_t> bridges) {
  return {socket, socket, host_bridge, std::move(bridges)};
}

TEST(PciDistance, WhereBridgesAreSwitches) {
  const PciPlace gpu = place(0, kUnknown, {1});
  EXPECT_EQ(pcie_distance(gpu, place(0, kUnknown, {1}), kSwitch), PcieDistance::kSameBridge);
  EXPECT_EQ(pcie_distance(gpu, place(0, kUnknown, {1, 2}), kSwitch), PcieDistance::kSameSwitch);
  EXPECT_EQ(pcie_distance(gpu, place(0, kUnknown, {3}), kSwitch), PcieDistance::kHostBridge);
  EXPECT_EQ(pcie_distance(gpu, place(0, kUnknown, {}), kSwitch), PcieDistance::kHostBridge);
  EXPECT_EQ(pcie_distance(gpu, place(1, kUnknown, {4}), kSwitch), PcieDistance::kOtherNuma);
  EXPECT_EQ(pcie_distance(gpu, place(kUnknown, kUnknown, {4}), kSwitch), PcieDistance::kOtherNuma);
}

// Root port 10, upstream port 11, downstream ports 12 and 13: one switch.
TEST(PciDistance, WhereBridgesArePorts) {
  const PciPlace gpu = place(0, 5, {10, 11, 12});
  EXPECT_EQ(pcie_distance(gpu, place(0, 5, {10, 11, 13}), kPort), PcieDistance::kSameBridge);
  EXPECT_EQ(pcie_distance(gpu, place(0, 5, {10, 11, 13, 14, 15}), kPort),
            PcieDistance::kSameSwitch);
  EXPECT_EQ(pcie_distance(gpu, place(0, 5, {20, 21}), kPort), PcieDistance::kHostBridge);
  EXPECT_EQ(pcie_distance(gpu, place(0, 6, {30}), kPort), PcieDistance::kSameNuma);
  EXPECT_EQ(pcie_distance(gpu, place(1, 7, {40}), kPort), PcieDistance::kOtherNuma);
}

// A tree of switches as parent pointers; nodes 0 and 1 are sockets.
struct Tree {
  std::vector<int> parent = {-1, -1};

  std::vector<int> ancestors(int node) const {
    std::vector<int> chain;
    for (int at = parent[static_cast<std::size_t>(node)]; at >= 0;
         at = parent[static_cast<std::size_t>(at)])
      chain.push_back(at);
    return chain;
  }

  PciPlace place_of(int node) const {
    std::vector<int> chain = ancestors(node);
    PciPlace found;
    found.socket = chain.back();
    found.numa = chain.back();
    found.bridges.assign(chain.rbegin() + 1, chain.rend());
    return found;
  }

  // Walks up from both to the first common node and counts the switches on the way.
  PcieDistance by_walking(int a, int b) const {
    const std::vector<int> up = ancestors(a);
    const std::vector<int> down = ancestors(b);
    std::size_t bridges = 0;
    for (const int node : up) {
      const auto common = std::find(down.begin(), down.end(), node);
      if (common == down.end()) {
        ++bridges;
        continue;
      }
      if (node < 2) return PcieDistance::kHostBridge;
      bridges += 1 + static_cast<std::size_t>(common - down.begin());
      return bridges == 1 ? PcieDistance::kSameBridge : PcieDistance::kSameSwitch;
    }
    return PcieDistance::kOtherNuma;
  }
};

TEST(PciDistance, AgreesWithAWalkInRandomTrees) {
  std::mt19937 random(20260101);
  std::vector<int> seen(5);
  for (int round = 0; round < 200; ++round) {
    Tree tree;
    for (int node = 2; node < 30; ++node)
      tree.parent.push_back(static_cast<int>(random() % std::min(node, 12)));
    for (int a = 2; a < 30; ++a)
      for (int b = 2; b < 30; ++b) {
        if (a == b || tree.ancestors(a).empty() || tree.ancestors(b).empty()) continue;
        const auto chain_a = tree.ancestors(a);
        const auto chain_b = tree.ancestors(b);
        // Only leaves are devices: a device above another has no distance to it.
        if (std::find(chain_a.begin(), chain_a.end(), b) != chain_a.end() ||
            std::find(chain_b.begin(), chain_b.end(), a) != chain_b.end())
          continue;
        const PcieDistance expected = tree.by_walking(a, b);
        ++seen[static_cast<std::size_t>(expected)];
        ASSERT_EQ(pcie_distance(tree.place_of(a), tree.place_of(b), kSwitch), expected);
      }
  }
  // kSameNuma cannot occur where host bridges are not told apart; all others did.
  EXPECT_GT(seen[0], 0);
  EXPECT_GT(seen[1], 0);
  EXPECT_GT(seen[2], 0);
  EXPECT_EQ(seen[3], 0);
  EXPECT_GT(seen[4], 0);
}

TEST(PciPlaces, NumberSwitchesByFirstDevice) {
  ImportedNode node;
  node.gpus.resize(3);
  node.nics.resize(2);
  apply_places(node, {place(0, kUnknown, {7, 8}), place(1, kUnknown, {5}), place(1, kUnknown, {})},
               {place(0, kUnknown, {7}), place(1, kUnknown, {9})}, kSwitch);
  EXPECT_EQ(node.gpus[0].pcie_switch, 0);
  EXPECT_EQ(node.gpus[1].pcie_switch, 1);
  EXPECT_EQ(node.gpus[2].pcie_switch, kUnknown);
  EXPECT_EQ(node.nics[0].pcie_switch, 0);
  EXPECT_EQ(node.nics[1].pcie_switch, 2);
  EXPECT_EQ(node.pcie_switches, 3);
  EXPECT_EQ(node.gpus[1].numa, 1);
  EXPECT_EQ(node.distance[0][0], PcieDistance::kSameSwitch);
  EXPECT_EQ(node.distance[2][1], PcieDistance::kHostBridge);
}

}  // namespace
}  // namespace transload
