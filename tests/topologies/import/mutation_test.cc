// Damaged files: whatever is cut out, doubled or overwritten, a reader takes the file or refuses it
// with an InputError that names the file. It never crashes and throws nothing else.
#include <gtest/gtest.h>

#include <random>

#include "tests/topologies/import/node_files.h"
#include "topologies/import/nic_choice.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using Reader = ImportFindings (*)(const std::string&, const std::string&);

std::string mutated(std::string text, std::mt19937& random) {
  constexpr std::string_view kBytes = "\"<>=/ \t\n0x9-,:X\x1b\xff";
  for (std::uint32_t edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
    const std::size_t at = random() % text.size();
    const std::size_t length = random() % 40;
    switch (random() % 4) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(random() % text.size(), length));
        break;
      case 2:
        text[at] = kBytes[random() % kBytes.size()];
        break;
      default:
        text.resize(text.size() - text.size() / 8);
    }
  }
  return text;
}

struct Outcomes {
  int accepted = 0;
  int refused = 0;
};

Outcomes mutate(Reader reader, const std::string& original, std::uint32_t seed) {
  std::mt19937 random(seed);
  Outcomes outcomes;
  for (int round = 0; round < 1500; ++round) {
    const std::string text = mutated(original, random);
    try {
      ImportFindings findings = reader(text, "damaged");
      ++outcomes.accepted;
      EXPECT_TRUE(findings.node.has_value());
      EXPECT_FALSE(findings.node->gpus.empty());
      const auto nics = choose_nics(*findings.node, all_nics(*findings.node), findings.asked);
      EXPECT_EQ(nics.size(), findings.node->gpus.size());
    } catch (const InputError& error) {
      ++outcomes.refused;
      EXPECT_EQ(error.place().file, "damaged") << error.what();
    }
  }
  return outcomes;
}

// Both outcomes have to occur, or the edits would be too harsh or too mild to test anything.
void expect_both(const Outcomes& outcomes) {
  EXPECT_GT(outcomes.accepted, 30);
  EXPECT_GT(outcomes.refused, 300);
}

TEST(DamagedFiles, NvidiaSmiTopo) {
  TopoText topo;
  topo.near = {{0}, {1}, {2}, {3}};
  topo.numa_of_nic = {0, 0, 1, 1};
  expect_both(mutate(read_nvidia_smi_topo, topo.text(), 1));
}

TEST(DamagedFiles, NcclXml) {
  expect_both(
      mutate(read_nccl_xml,
             "<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\">\n"
             "<pci busid=\"0000:08:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" "
             "link_width=\"16\">\n"
             "<pci busid=\"0000:0f:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\" "
             "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
             "<gpu dev=\"0\" sm=\"90\" rank=\"0\"><nvlink target=\"0000:1c:00.0\" count=\"18\" "
             "tclass=\"0x068000\"/></gpu>\n</pci>\n"
             "<pci busid=\"0000:0c:00.0\" class=\"0x020000\" link_speed=\"32.0 GT/s PCIe\" "
             "link_width=\"16\">\n"
             "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"200000\" port=\"1\"/>"
             "<net name=\"mlx5_1\" dev=\"1\" speed=\"200000\" port=\"2\"/></nic>\n</pci>\n"
             "</pci>\n</cpu>\n</system>\n",
             2));
}

TEST(DamagedFiles, HwlocXml) {
  const std::string devices = hwloc_device("0000:53:00.0", "0302 [10de:2330] [10de:16c1] a1",
                                           "63.015385", os_device("cuda0", 5)) +
                              hwloc_device("0000:4f:00.0", "0200 [1d0f:efa1] [1d0f:efa1] 00",
                                           "15.753846", os_device("rdmap79s0", 3));
  expect_both(mutate(read_hwloc_xml, hwloc_machine(hwloc_package(0, hwloc_switch(devices))), 3));
}

}  // namespace
}  // namespace transload
