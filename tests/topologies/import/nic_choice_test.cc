// Which NICs a GPU uses: the cases that users met, pins, and random machines against a check over
// all subsets of GPUs.
#include "topologies/import/nic_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>

#include "common/units.h"
#include "tests/topologies/import/node_files.h"
#include "topologies/import/pci_place.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using NicList = std::vector<std::int32_t>;

ImportedNode node_of(const TopoText& topo) {
  return *read_nvidia_smi_topo(topo.text(), "topo.txt").node;
}

std::vector<NicList> choose(const ImportedNode& node, const NicList& allowed) {
  std::vector<std::string> asked;
  auto nics = choose_nics(node, allowed, asked);
  EXPECT_TRUE(asked.empty());
  return nics;
}
std::vector<NicList> choose(const ImportedNode& node) { return choose(node, all_nics(node)); }

std::vector<NicList> one_each(const NicList& nics) {
  std::vector<NicList> lists;
  for (const std::int32_t nic : nics) lists.push_back({nic});
  return lists;
}

// A node of which only the distances matter.
ImportedNode node_of(const std::vector<std::vector<PcieDistance>>& distance) {
  ImportedNode node;
  node.distance = distance;
  node.gpus.resize(distance.size());
  node.nics.resize(distance.front().size());
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu)
    node.gpus[gpu].name = fmt::format("GPU{}", gpu);
  for (std::size_t nic = 0; nic < node.nics.size(); ++nic)
    node.nics[nic].name = fmt::format("mlx5_{}", nic);
  return node;
}

constexpr PcieDistance kPix = PcieDistance::kSameBridge;
constexpr PcieDistance kPhb = PcieDistance::kHostBridge;
constexpr PcieDistance kNode = PcieDistance::kSameNuma;
constexpr PcieDistance kSys = PcieDistance::kOtherNuma;

TopoText identity_of_eight() {
  TopoText topo;
  topo.near = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
  topo.numa_of_nic = {0, 0, 0, 0, 1, 1, 1, 1};
  return topo;
}

// data/cases.json RC-117: 8 GPUs send 1 GB each. All 8 NICs carry 1 GB: 0.02 s at 50 GB/s; if four
// carry everything, twice that.
TEST(NicChoice, RC117_AllNicsCarryTheSame) {
  const ImportedNode node = node_of(identity_of_eight());
  constexpr std::int64_t kBytesPerGpu = 1'000'000'000;
  constexpr std::int64_t kRate = 50'000'000'000;
  const auto most_loaded = [&](const NicList& allowed) {
    std::vector<std::int64_t> bytes(node.nics.size());
    for (const NicList& nics : choose(node, allowed))
      for (const std::int32_t nic : nics)
        bytes[static_cast<std::size_t>(nic)] +=
            kBytesPerGpu / static_cast<std::int64_t>(nics.size());
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0),
              static_cast<std::ptrdiff_t>(node.nics.size() - allowed.size()));
    return *std::max_element(bytes.begin(), bytes.end());
  };
  EXPECT_EQ(most_loaded(all_nics(node)), kBytesPerGpu);
  EXPECT_EQ(duration_ps(most_loaded(all_nics(node)), kRate), kPicosecondsPerSecond / 50);
  EXPECT_EQ(duration_ps(most_loaded({0, 1, 4, 5}), kRate), kPicosecondsPerSecond / 25);
}

// data/cases.json RC-120: NIC numbers alternate between sockets, and NIC 0 is no GPU's nearest.
TEST(NicChoice, RC120_NumbersThatAlternateBetweenSockets) {
  TopoText topo;
  topo.near = {{2}, {4}, {6}, {8}, {1}, {3}, {5}, {7}};
  topo.numa_of_nic = {0, 1, 0, 1, 0, 1, 0, 1, 0};
  topo.nvlinks = 8;
  const ImportedNode node = node_of(topo);
  EXPECT_EQ(node.nics.size(), 9u);
  EXPECT_EQ(node.pcie_switches, 8);
  EXPECT_EQ(node.nics[0].pcie_switch, kUnknown);
  EXPECT_EQ(choose(node), one_each({2, 4, 6, 8, 1, 3, 5, 7}));
}

// data/cases.json RC-121: twelve NICs, three near GPU0 and three near GPU4, of which four are for
// the front end.
TEST(NicChoice, RC121_OnlyAllowedNicsAreUsed) {
  TopoText topo;
  topo.near = {{0, 1, 2}, {3}, {4}, {5}, {6, 7, 8}, {9}, {10}, {11}};
  topo.numa_of_nic = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  const ImportedNode node = node_of(topo);
  std::vector<std::string> names;
  for (const ImportedNic& nic : node.nics) names.push_back(nic.name);
  EXPECT_EQ(choose(node, select_nics(names, "^=mlx5_1,mlx5_2,mlx5_7,mlx5_8")),
            one_each({0, 3, 4, 5, 6, 9, 10, 11}));
  EXPECT_THAT(choose(node),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3), ElementsAre(4), ElementsAre(5),
                          ElementsAre(6, 7, 8), ElementsAre(9), ElementsAre(10), ElementsAre(11)));
}

// data/cases.json RC-122: NIC order has nothing to do with GPU order.
TEST(NicChoice, RC122_PermutedNics) {
  TopoText topo;
  topo.near = {{4}, {1}, {0}, {3}, {6}, {7}, {5}, {2}};
  topo.numa_of_nic = {0, 0, 1, 0, 0, 1, 1, 1};
  EXPECT_EQ(choose(node_of(topo)), one_each({4, 1, 0, 3, 6, 7, 5, 2}));
}

TEST(NicChoice, TwoGpusAndTwoNicsBelowASwitchGetOneEach) {
  TopoText topo;
  topo.near = {{0, 1}, {0, 1}, {2, 3}, {2, 3}, {4, 5}, {4, 5}, {6, 7}, {6, 7}};
  topo.numa_of_nic = {0, 0, 0, 0, 1, 1, 1, 1};
  const ImportedNode node = node_of(topo);
  EXPECT_EQ(node.pcie_switches, 4);
  EXPECT_EQ(choose(node), one_each({0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(NicChoice, TwoGpusShareTheNicOfTheirSwitch) {
  TopoText topo;
  topo.near = {{0}, {0}, {1}, {1}};
  topo.numa_of_nic = {0, 1};
  EXPECT_EQ(choose(node_of(topo)), one_each({0, 0, 1, 1}));
}

// Below one switch: n NICs in m equal stretches.
TEST(NicChoice, StretchesOfEqualLength) {
  const auto below_one_switch = [](std::size_t gpus, std::size_t nics) {
    return choose(node_of(std::vector(gpus, std::vector(nics, kPix))));
  };
  EXPECT_THAT(below_one_switch(2, 4), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(below_one_switch(2, 3), ElementsAre(ElementsAre(0, 1), ElementsAre(1, 2)));
  EXPECT_THAT(below_one_switch(3, 2),
              ElementsAre(ElementsAre(0), ElementsAre(0, 1), ElementsAre(1)));
  EXPECT_THAT(below_one_switch(4, 2),
              ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1), ElementsAre(1)));
  EXPECT_THAT(below_one_switch(1, 3), ElementsAre(ElementsAre(0, 1, 2)));
}

// GPU1 and GPU3 have no NIC of their own: one takes the idle NIC 2, the other shares.
TEST(NicChoice, GpusWithoutANicOfTheirOwnTakeIdleOnesFirst) {
  EXPECT_THAT(choose(node_of({{kPix, kNode, kNode},
                              {kNode, kNode, kNode},
                              {kNode, kPix, kNode},
                              {kNode, kNode, kNode}})),
              ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(1), ElementsAre(0, 1, 2)));
}

TEST(NicChoice, NoNics) {
  ImportedNode node = node_of({{kPix}});
  EXPECT_THAT(choose(node, {}), ElementsAre(IsEmpty()));
}

// A Grace tray: every cell is SYS.
TEST(NicChoice, AsksWhereDistancesSayNothing) {
  const ImportedNode node = node_of(std::vector(4, std::vector(6, kSys)));
  std::vector<std::string> asked;
  EXPECT_THAT(choose_nics(node, all_nics(node), asked), testing::Each(IsEmpty()));
  EXPECT_THAT(asked, ElementsAre("nic_of_gpu: every GPU is across NUMA nodes (SYS) from every NIC, "
                                 "so the file does not tell which GPU uses which of the 6 NICs"));
  // One NIC is everyone's, whatever its distance, and so are all NICs of a single GPU.
  EXPECT_EQ(choose(node, {3}), one_each({3, 3, 3, 3}));
  EXPECT_THAT(choose(node_of({{kSys, kSys}})), ElementsAre(ElementsAre(0, 1)));
}

TEST(NicChoice, AsksInAMachineWithOneFlatBus) {
  std::vector<std::string> asked;
  const ImportedNode node = node_of(std::vector(2, std::vector(2, kPhb)));
  choose_nics(node, all_nics(node), asked);
  EXPECT_THAT(asked, ElementsAre(HasSubstr("behind a host bridge (PHB)")));
}

// NUMA nodes tell apart what distances do not, if both sides state them.
TEST(NicChoice, NumaNodesDecideWhereDistancesDoNot) {
  ImportedNode node = node_of(std::vector(4, std::vector(4, kSys)));
  for (std::size_t at = 0; at < 4; ++at) {
    node.gpus[at].numa = at < 2 ? 0 : 1;
    node.nics[at].numa = at < 2 ? 1 : 0;
  }
  EXPECT_EQ(choose(node), one_each({2, 3, 0, 1}));
  node.nics[0].numa = kUnknown;
  std::vector<std::string> asked;
  choose_nics(node, all_nics(node), asked);
  EXPECT_EQ(asked.size(), 1u);
}

// data/cases.json RC-133: one NIC pinned for all memory is far from all GPUs but one. A pin is per
// GPU, and one that breaks nearness is warned about.
TEST(NicPins, RC133_APinIsPerGpuAndWarnedAboutWhereItIsFar) {
  TopoText topo;
  topo.near = {{0}, {1}, {2}, {3}};
  topo.numa_of_nic = {0, 0, 1, 1};
  const ImportedNode node = node_of(topo);
  EXPECT_THAT(far_nic_warnings(node, choose(node)), IsEmpty());
  std::vector<NicList> nics = choose(node);
  pin_nics(node, {{"GPU2", {"mlx5_0"}}, {"GPU0", {"mlx5_0"}}}, nics);
  EXPECT_EQ(nics, one_each({0, 1, 0, 3}));
  EXPECT_THAT(
      far_nic_warnings(node, nics),
      ElementsAre("GPU2 uses mlx5_0, across NUMA nodes (SYS), although mlx5_2 is one bridge "
                  "away (PIX)"));
  // The pin of the case: one card for every GPU.
  EXPECT_THAT(far_nic_warnings(node, choose(node, {0})),
              ElementsAre(HasSubstr("GPU1 uses mlx5_0, behind another host bridge (NODE)"),
                          HasSubstr("GPU2 uses mlx5_0"), HasSubstr("GPU3 uses mlx5_0")));
}

TEST(NicPins, RefuseUnknownNamesAndTwoPins) {
  const ImportedNode node = node_of({{kPix, kNode}, {kNode, kPix}});
  const auto refusal = [&](const std::vector<NicPin>& pins) {
    return import_refusal([&] {
      auto nics = choose(node);
      pin_nics(node, pins, nics);
    });
  };
  EXPECT_EQ(refusal({{"GPU2", {"mlx5_0"}}}), "pin: unknown GPU GPU2; the node has GPU0, GPU1");
  EXPECT_EQ(refusal({{"GPU0", {"ib0"}}}), "pin: unknown NIC ib0; the node has mlx5_0, mlx5_1");
  EXPECT_EQ(refusal({{"GPU0", {"mlx5_0"}}, {"GPU0", {"mlx5_1"}}}),
            "pin: GPU0 has two pins; expected one");
}

PciPlace random_place(std::mt19937& random) {
  PciPlace place;
  place.socket = static_cast<std::int32_t>(random() % 2);
  place.numa = place.socket;
  place.host_bridge = 2 * place.socket + static_cast<std::int32_t>(random() % 2);
  std::int32_t bridge = place.host_bridge;
  for (std::uint32_t depth = random() % 3; depth > 0; --depth) {
    bridge = 10 * (bridge + 1) + static_cast<std::int32_t>(random() % 2);
    place.bridges.push_back(bridge);
  }
  return place;
}

ImportedNode random_node(std::mt19937& random) {
  ImportedNode node;
  node.gpus.resize(1 + random() % 8);
  node.nics.resize(1 + random() % 8);
  std::vector<PciPlace> gpus;
  std::vector<PciPlace> nics;
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) gpus.push_back(random_place(random));
  for (std::size_t nic = 0; nic < node.nics.size(); ++nic) nics.push_back(random_place(random));
  apply_places(node, gpus, nics, BridgeForm::kSwitch);
  return node;
}

// Whether every GPU can spread one unit over its NICs so that none carries more than
// gpus.size() / nic_count: by Hall's condition, every subset T of the GPUs reaches enough NICs,
// |N(T)| * gpus.size() >= |T| * nic_count.
bool can_be_even(const std::vector<NicList>& gpus, std::size_t nic_count) {
  for (std::uint32_t subset = 1; subset < (1u << gpus.size()); ++subset) {
    std::set<std::int32_t> reached;
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
      if (subset >> gpu & 1) reached.insert(gpus[gpu].begin(), gpus[gpu].end());
    if (reached.size() * gpus.size() < static_cast<std::size_t>(std::popcount(subset)) * nic_count)
      return false;
  }
  return true;
}

TEST(NicChoice, RandomMachinesGetTheNearestNicsEvenly) {
  std::mt19937 random(7);
  int even_groups = 0;
  int asked_machines = 0;
  for (int round = 0; round < 2000; ++round) {
    const ImportedNode node = random_node(random);
    std::vector<std::string> asked;
    const std::vector<NicList> chosen = choose_nics(node, all_nics(node), asked);
    if (!asked.empty()) {
      ++asked_machines;
      continue;
    }
    std::map<NicList, std::vector<NicList>> groups;  // chosen NICs of the GPUs by their nearest
    std::map<std::int32_t, std::set<NicList>> groups_of_nic;
    for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
      const auto& row = node.distance[gpu];
      const PcieDistance best = *std::min_element(row.begin(), row.end());
      NicList nearest;
      for (const std::int32_t nic : all_nics(node))
        if (row[static_cast<std::size_t>(nic)] == best) nearest.push_back(nic);
      ASSERT_FALSE(chosen[gpu].empty());
      ASSERT_TRUE(
          std::includes(nearest.begin(), nearest.end(), chosen[gpu].begin(), chosen[gpu].end()));
      groups[nearest].push_back(chosen[gpu]);
      for (const std::int32_t nic : nearest) groups_of_nic[nic].insert(nearest);
    }
    for (const auto& [nearest, gpus] : groups) {
      const bool alone = std::all_of(nearest.begin(), nearest.end(), [&](std::int32_t nic) {
        return groups_of_nic[nic].size() == 1;
      });
      if (!alone) continue;
      ++even_groups;
      ASSERT_TRUE(can_be_even(gpus, nearest.size()));
    }
  }
  EXPECT_GT(even_groups, 1000);
  EXPECT_GT(asked_machines, 10);
  EXPECT_LT(asked_machines, 1000);
}

}  // namespace
}  // namespace transload
