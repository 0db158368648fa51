// hwloc XML: GPUs and RDMA cards in a tree of ports, what is left out, and what hwloc cannot know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "tests/topologies/import/node_files.h"
#include "topologies/import/nic_choice.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ImportFindings read(const std::string& text) { return read_hwloc_xml(text, "node.xml"); }
std::string refusal(const std::string& text) {
  return import_refusal([&] { read(text); });
}

constexpr int kNetwork = 2;
constexpr int kOpenFabrics = 3;
constexpr int kCoProcessor = 5;
const std::string kH100 = "0302 [10de:2330] [10de:16c1] a1";
const std::string kEfa2 = "0200 [1d0f:efa1] [1d0f:efa1] 00";
const std::string kConnectX7 = "0207 [15b3:1021] [15b3:0000] 00";

std::string gpu(int bus, const std::string& type = kH100, const std::string& inside = "") {
  return hwloc_device(fmt::format("0000:{:02x}:00.0", bus), type, "63.015385", inside);
}
std::string efa(int bus) {
  return hwloc_device(fmt::format("0000:{:02x}:00.0", bus), kEfa2, "15.753846",
                      os_device(fmt::format("rdmap{}s0", bus), kOpenFabrics));
}
std::string ena(int bus) {
  return hwloc_device(fmt::format("0000:{:02x}:00.0", bus), "0200 [1d0f:ec20] [1d0f:ec20] 00",
                      "15.753846", os_device(fmt::format("enp{}s0", bus), kNetwork));
}

// The shape of a p5.48xlarge: 8 switches with a GPU, four EFA cards, four ENA cards and a disk.
std::string p5_like() {
  std::string packages;
  for (int numa = 0; numa < 2; ++numa) {
    std::string switches;
    for (int one = 0; one < 4; ++one) {
      const int bus = 0x40 + 16 * (4 * numa + one);
      std::string devices;
      for (int card = 0; card < 4; ++card) devices += ena(bus + card);
      for (int card = 0; card < 4; ++card) devices += efa(bus + 4 + card);
      devices += gpu(bus + 8);
      devices += hwloc_device(fmt::format("0000:{:02x}:00.0", bus + 9),
                              "0108 [1d0f:cd01] [1d0f:0000] 00", "15.753846", "");
      switches += hwloc_switch(devices);
    }
    packages += hwloc_package(numa, switches);
  }
  return hwloc_machine(packages);
}

// data/cases.json RC-134: 32 NICs for 8 GPUs are four for each, 12.5 GB/s a NIC and 50 GB/s a GPU.
TEST(HwlocXml, RC134_FourNicsForEachGpu) {
  const ImportFindings findings = read(p5_like());
  EXPECT_EQ(findings.kind, "hwloc-xml");
  const ImportedNode& node = *findings.node;
  ASSERT_EQ(node.gpus.size(), 8u);
  ASSERT_EQ(node.nics.size(), 32u);
  EXPECT_EQ(node.pcie_switches, 8);
  EXPECT_EQ(node.host_memory_bytes, 2'000'000);
  std::vector<std::string> asked;
  const auto nics = choose_nics(node, all_nics(node), asked);
  EXPECT_TRUE(asked.empty());
  for (std::size_t at = 0; at < 8; ++at) {
    const auto first = static_cast<std::int32_t>(4 * at);
    EXPECT_THAT(nics[at], ElementsAre(first, first + 1, first + 2, first + 3));
    std::int64_t rate = 0;
    for (const std::int32_t nic : nics[at]) {
      EXPECT_EQ(node.nics[static_cast<std::size_t>(nic)].rate, 12'500'000'000);
      rate += node.nics[static_cast<std::size_t>(nic)].rate;
    }
    EXPECT_EQ(rate, 50'000'000'000);
    EXPECT_EQ(node.gpus[at].model, "h100");
    EXPECT_EQ(node.gpus[at].pcie_rate, 63'015'385'000);
    EXPECT_EQ(node.gpus[at].numa, at < 4 ? 0 : 1);
  }
}

TEST(HwlocXml, DistancesInATreeOfPorts) {
  const ImportedNode node = *read(p5_like()).node;
  EXPECT_EQ(node.distance[0][0], PcieDistance::kSameBridge);
  EXPECT_EQ(node.distance[0][4], PcieDistance::kSameNuma);
  EXPECT_EQ(node.distance[0][16], PcieDistance::kOtherNuma);
}

TEST(HwlocXml, NamesWhatItLeavesOut) {
  const ImportFindings findings = read(p5_like());
  EXPECT_THAT(findings.ignored,
              ElementsAre("32 network cards without RDMA: enp64s0, enp65s0, enp66s0, enp67s0, "
                          "enp80s0, enp81s0, enp82s0, enp83s0 and 24 more",
                          "8 x PCI devices of class 0108"));
  EXPECT_THAT(findings.asked, ElementsAre(HasSubstr("nvlink: hwloc does not know the NVLinks of")));
  EXPECT_THAT(findings.warnings, ElementsAre(HasSubstr("rate of 32 NICs: 12.5 GB/s each")));
}

// HGX B200 shows its NVSwitches as ConnectX-7 functions with one lane.
TEST(HwlocXml, CardsThatManageNvSwitchesAreNoNics) {
  const std::string management =
      hwloc_device("0000:73:00.0", kConnectX7, "3.938462",
                   os_device("ibp115s0f0", kNetwork) + os_device("ibp115s0f0", kOpenFabrics));
  const std::string data =
      hwloc_device("0000:74:00.0", kConnectX7, "63.015385", os_device("mlx5_0", kOpenFabrics));
  const ImportFindings findings = read(hwloc_machine(hwloc_package(
      0, hwloc_switch(gpu(0x51, "0302 [10de:2901] [10de:1999] a1") + management + data))));
  ASSERT_EQ(findings.node->nics.size(), 1u);
  EXPECT_EQ(findings.node->nics[0].name, "mlx5_0");
  EXPECT_EQ(findings.node->nics[0].rate, 0);
  EXPECT_EQ(findings.node->gpus[0].model, "b200");
  EXPECT_THAT(findings.ignored,
              ElementsAre(HasSubstr("1 network card in a slot too slow for data: ibp115s0f0 (3.938 "
                                    "GB/s)")));
  EXPECT_THAT(findings.asked, testing::Contains("nic: which network rate have mlx5_0? The file "
                                                "does not say"));
}

TEST(HwlocXml, NvSwitchesJoinAllGpus) {
  const std::string nvswitch =
      hwloc_device("0000:90:00.0", "0680 [10de:22a3] [10de:1796] a1", "0.000000", "");
  const ImportFindings findings = read(hwloc_machine(
      hwloc_package(0, hwloc_switch(gpu(1) + nvswitch)) + hwloc_package(1, hwloc_switch(gpu(2)))));
  EXPECT_EQ(findings.node->gpus[0].nvlink_island, 0);
  EXPECT_EQ(findings.node->gpus[1].nvlink_island, 0);
  EXPECT_THAT(findings.warnings, ElementsAre(HasSubstr("1 NVSwitch device in the PCI tree")));
}

// Where hwloc was built with CUDA it knows the order of CUDA devices.
TEST(HwlocXml, OrderOfCudaDevices) {
  const auto with_cuda = [](int bus, int number) {
    return gpu(bus, kH100, os_device(fmt::format("cuda{}", number), kCoProcessor));
  };
  const auto buses = [](const ImportFindings& findings) {
    std::vector<std::string> all;
    for (const ImportedGpu& one : findings.node->gpus) all.push_back(one.bus);
    return all;
  };
  EXPECT_THAT(
      buses(read(hwloc_machine(hwloc_package(0, hwloc_switch(with_cuda(1, 1) + with_cuda(2, 0)))))),
      ElementsAre("0000:02:00.0", "0000:01:00.0"));
  EXPECT_THAT(buses(read(hwloc_machine(hwloc_package(0, hwloc_switch(gpu(2) + gpu(1)))))),
              ElementsAre("0000:01:00.0", "0000:02:00.0"));
}

// A device below the machine itself, which has two NUMA nodes, is near neither.
TEST(HwlocXml, LocalityThatIsNotOneNode) {
  const ImportedNode node =
      *read(hwloc_machine(hwloc_package(0, hwloc_switch(efa(3))) + hwloc_switch(gpu(1)))).node;
  EXPECT_EQ(node.gpus[0].numa, kUnknown);
  EXPECT_EQ(node.nics[0].numa, 0);
  EXPECT_EQ(node.distance[0][0], PcieDistance::kOtherNuma);
}

// Words of 32 bits, the most significant first; an empty word is 0.
TEST(HwlocXml, NodesetsOfManyWords) {
  const auto numa_of = [](const std::string& nodeset) {
    return read(hwloc_machine("<object type=\"Group\" nodeset=\"" + nodeset + "\">" +
                              hwloc_switch(gpu(1)) + "</object>"))
        .node->gpus[0]
        .numa;
  };
  EXPECT_EQ(numa_of("0x00000004"), 2);
  EXPECT_EQ(numa_of("0x00000002,0x00000000"), 33);
  EXPECT_EQ(numa_of("0x1,,0x0"), 64);
  EXPECT_EQ(numa_of("0x00000001,0x00000001"), kUnknown);
  EXPECT_EQ(numa_of("0xf...f"), kUnknown);
  EXPECT_EQ(numa_of("0x0"), kUnknown);
}

struct BadHwloc {
  const char* name;
  std::string text;
  const char* message;
};

std::ostream& operator<<(std::ostream& stream, const BadHwloc& bad) { return stream << bad.name; }

class HwlocXmlRefusal : public testing::TestWithParam<BadHwloc> {};

TEST_P(HwlocXmlRefusal, NamesLineAndAttribute) {
  EXPECT_EQ(refusal(GetParam().text), GetParam().message);
}

const std::string kObject = "<topology>\n<object type=\"Machine\">\n<object ";

const BadHwloc kBadFiles[] = {
    {"Cut", kObject, "node.xml:3: not well-formed XML: Error parsing start element tag"},
    {"OtherRoot", "<system/>",
     "node.xml:1: system: expected <topology>, the outermost element of an hwloc export"},
    {"NoGpu", kObject + "type=\"Package\"/></object></topology>",
     "node.xml: the file lists no GPU; export with lstopo --whole-io --of xml"},
    {"TypeMissing", kObject + "name=\"a\"/></object></topology>",
     "node.xml:3: object: the attribute type is missing"},
    {"PciTypeMalformed", kObject + "type=\"PCIDev\" pci_type=\"GPU\"/></object></topology>",
     "node.xml:3: object.pci_type: expected a class and ids such as 0302 [10de:2330], found GPU"},
    {"BusMalformed",
     kObject + "type=\"PCIDev\" pci_type=\"0302 [10de:2330] \" "
               "pci_busid=\"1\"/></object></topology>",
     "node.xml:3: object.pci_busid: expected a PCI address such as 0000:0f:00.0, found 1"},
    {"LinkSpeedMalformed",
     kObject + "type=\"PCIDev\" pci_type=\"0302 [10de:2330] \" pci_busid=\"0000:01:00.0\" "
               "pci_link_speed=\"-3\"/></object></topology>",
     "node.xml:3: object.pci_link_speed: expected a rate in GB/s, found -3"},
    {"BridgeTypeUnknown", kObject + "type=\"Bridge\" bridge_type=\"2-1\"/></object></topology>",
     "node.xml:3: object.bridge_type: expected 0-1 or 1-1, found 2-1"},
    {"MemoryNegative", kObject + "type=\"NUMANode\" local_memory=\"-1\"/></object></topology>",
     "node.xml:3: object.local_memory: expected 0 to 1125899906842624 bytes, found -1"},
    {"LaterVersion", "<topology version=\"3.0\"/>",
     "node.xml:1: topology.version: expected the form of hwloc 1 or 2, found 3.0"},
    {"SameCardTwice",
     hwloc_machine(hwloc_package(0, hwloc_switch(gpu(1) + efa(2)) + hwloc_switch(efa(2)))),
     "node.xml:21: NIC: rdmap2s0 is listed twice, first in line 14; expected one entry for each "
     "device"},
};

INSTANTIATE_TEST_SUITE_P(Files, HwlocXmlRefusal, testing::ValuesIn(kBadFiles),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace transload
