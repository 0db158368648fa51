// A file about eight GPUs where a container sees four.
#include "topologies/import/visible_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/import/node_files.h"
#include "topologies/import/nic_choice.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// The form of aws p4d: two GPUs and one EFA card below each of four switches.
ImportFindings p4d_like() {
  std::string text = "<system version=\"1\">\n";
  for (int numa = 0; numa < 2; ++numa) {
    text += fmt::format("<cpu numaid=\"{}\">\n", numa);
    for (int one = 2 * numa; one < 2 * numa + 2; ++one) {
      text += fmt::format("<pci busid=\"ffff:ff:0{}.0\" class=\"0x060400\">\n", one + 1);
      for (const char* slot : {"1c", "1d"})
        text += fmt::format(
            "<pci busid=\"0000:{}0:{}.0\" class=\"0x030200\" vendor=\"0x10de\" "
            "device=\"0x20b0\" link_speed=\"8 GT/s\" link_width=\"16\"/>\n",
            one + 1, slot);
      text += fmt::format(
          "<pci busid=\"0000:{}0:1b.0\" class=\"0x020000\" vendor=\"0x1d0f\" "
          "device=\"0xefa0\" link_speed=\"8 GT/s\" link_width=\"16\"/>\n</pci>\n",
          one + 1);
    }
    text += "</cpu>\n";
  }
  return read_nccl_xml(text + "</system>\n", "p4d.xml");
}

TEST(VisibleGpus, WholeMachine) {
  const ImportFindings findings = p4d_like();
  EXPECT_EQ(findings.node->gpus.size(), 8u);
  EXPECT_EQ(findings.node->nics.size(), 4u);
  EXPECT_EQ(findings.node->pcie_switches, 4);
  EXPECT_EQ(findings.node->nics[0].rate, 12'500'000'000);
  std::vector<std::string> asked;
  EXPECT_THAT(choose_nics(*findings.node, all_nics(*findings.node), asked),
              ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1), ElementsAre(1),
                          ElementsAre(2), ElementsAre(2), ElementsAre(3), ElementsAre(3)));
}

// data/cases.json RC-135: entries of absent devices are ignored.
TEST(VisibleGpus, RC135_EntriesOfAbsentGpusAreIgnored) {
  ImportFindings findings = p4d_like();
  keep_visible_gpus(findings, {"0000:40:1d.0", "00000000:20:1C.0", "GPU0", "GPU6"});
  const ImportedNode& node = *findings.node;
  ASSERT_EQ(node.gpus.size(), 4u);
  EXPECT_EQ(node.gpus[0].bus, "0000:10:1c.0");
  EXPECT_EQ(node.gpus[1].bus, "0000:20:1c.0");
  EXPECT_EQ(node.gpus[2].bus, "0000:40:1c.0");
  EXPECT_EQ(node.gpus[3].bus, "0000:40:1d.0");
  EXPECT_EQ(node.gpus[3].name, "GPU3");
  EXPECT_EQ(node.nics.size(), 4u);
  EXPECT_THAT(findings.ignored, Contains("GPUs of the file that are not visible: GPU1, GPU3, GPU4, "
                                         "GPU5"));
  std::vector<std::string> asked;
  EXPECT_THAT(choose_nics(node, all_nics(node), asked),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(3), ElementsAre(3)));
}

TEST(VisibleGpus, IslandsAreNumberedAnew) {
  TopoText topo;
  topo.near = std::vector<std::vector<int>>(4);
  topo.island_of_gpu = {0, 0, 1, 1};
  ImportFindings findings = read_nvidia_smi_topo(topo.text(), "topo.txt");
  keep_visible_gpus(findings, {"GPU3", "GPU2"});
  EXPECT_EQ(findings.node->gpus[0].nvlink_island, 0);
  EXPECT_EQ(findings.node->gpus[1].nvlink_island, 0);
}

TEST(VisibleGpus, AllVisibleLeavesNothingOut) {
  ImportFindings findings = p4d_like();
  const std::size_t ignored = findings.ignored.size();
  keep_visible_gpus(findings, {"GPU0", "GPU1", "GPU2", "GPU3", "GPU4", "GPU5", "GPU6", "GPU7"});
  EXPECT_EQ(findings.node->gpus.size(), 8u);
  EXPECT_EQ(findings.ignored.size(), ignored);
}

TEST(VisibleGpus, RefusesGpusThatTheFileDoesNotList) {
  ImportFindings findings = p4d_like();
  EXPECT_THAT(import_refusal([&] { keep_visible_gpus(findings, {"0000:99:00.0"}); }),
              HasSubstr("visible GPUs: the file does not list 0000:99:00.0; it has 0000:10:1c.0"));
  EXPECT_EQ(import_refusal([&] {
              keep_visible_gpus(findings, {"GPU1", "0000:10:1d.0"});
            }),
            "visible GPUs: 0000:10:1d.0 is named twice");
}

}  // namespace
}  // namespace transload
