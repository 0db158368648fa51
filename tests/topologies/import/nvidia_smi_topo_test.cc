// `nvidia-smi topo -m`: counts, islands, switches, NUMA nodes, and tables that have to be refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "tests/topologies/import/node_files.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ImportFindings read(const std::string& text) { return read_nvidia_smi_topo(text, "topo.txt"); }
std::string refusal(const std::string& text) {
  return import_refusal([&] { read(text); });
}

TopoText one_nic_each() {
  TopoText topo;
  topo.near = {{0}, {1}, {2}, {3}};
  topo.numa_of_nic = {0, 0, 1, 1};
  return topo;
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

TEST(NvidiaSmiTopo, CountsOfANodeWithOneNicPerGpu) {
  const ImportFindings findings = read(one_nic_each().text());
  EXPECT_EQ(findings.kind, "nvidia-smi-topo");
  const ImportedNode& node = *findings.node;
  ASSERT_EQ(node.gpus.size(), 4u);
  ASSERT_EQ(node.nics.size(), 4u);
  EXPECT_EQ(node.pcie_switches, 4);
  for (std::size_t gpu = 0; gpu < 4; ++gpu) {
    EXPECT_EQ(node.gpus[gpu].name, "GPU" + std::to_string(gpu));
    EXPECT_EQ(node.gpus[gpu].nvlink_island, 0);
    EXPECT_EQ(node.gpus[gpu].nvlink_links, 18);
    EXPECT_EQ(node.gpus[gpu].numa, gpu < 2 ? 0 : 1);
    EXPECT_EQ(node.gpus[gpu].pcie_switch, node.nics[gpu].pcie_switch);
    EXPECT_EQ(node.nics[gpu].name, "mlx5_" + std::to_string(gpu));
    EXPECT_EQ(node.nics[gpu].numa, kUnknown);
  }
  EXPECT_THAT(node.distance[0], ElementsAre(PcieDistance::kSameBridge, PcieDistance::kSameNuma,
                                            PcieDistance::kOtherNuma, PcieDistance::kOtherNuma));
  EXPECT_THAT(findings.asked, ElementsAre(HasSubstr("gpu: which model are GPU0, GPU1, GPU2, GPU3"),
                                          HasSubstr("nic: which network rate have mlx5_0")));
  EXPECT_TRUE(findings.warnings.empty());
}

TEST(NvidiaSmiTopo, SpacesColoursAndTextAround) {
  TopoText topo = one_nic_each();
  topo.separator = "   ";
  std::string text = "user@node:~$ nvidia-smi topo -m\n" + topo.text();
  replace(text, "GPU0", "\x1b[4mGPU0");
  replace(text, "GPU NUMA ID", "GPU NUMA ID\x1b[0m\r");
  const ImportedNode node = *read(text).node;
  EXPECT_EQ(node.gpus.size(), 4u);
  EXPECT_EQ(node.nics.size(), 4u);
  EXPECT_EQ(node.gpus[3].numa, 1);
}

// nvidia-smi leaves a column empty before the last one.
TEST(NvidiaSmiTopo, EmptyColumns) {
  std::string text = one_nic_each().text();
  replace(text, "\t0-7\t0\tN/A", "\t0-7\t0\t\tN/A");
  replace(text, "\t0-7\t0\tN/A", "\t\t0\t\tN/A");
  replace(text, "\t0-7\t1\tN/A", "\t0-7\tN/A\t\tN/A");
  replace(text, "\t0-7\t1\tN/A", "\t0-7\t0-1\t\tN/A");
  const ImportFindings findings = read(text);
  EXPECT_EQ(findings.node->gpus[0].numa, 0);
  EXPECT_EQ(findings.node->gpus[1].numa, 0);
  EXPECT_EQ(findings.node->gpus[2].numa, kUnknown);
  EXPECT_EQ(findings.node->gpus[3].numa, kUnknown);
  EXPECT_THAT(findings.warnings,
              ElementsAre("GPU3: NUMA affinity \"0-1\" is not one node; left open"));
}

TEST(NvidiaSmiTopo, TwoIslandsInOneNodeWithoutNics) {
  TopoText topo;
  topo.near = std::vector<std::vector<int>>(8);
  topo.island_of_gpu = {0, 0, 0, 0, 1, 1, 1, 1};
  const ImportFindings findings = read(topo.text());
  std::vector<std::int32_t> islands;
  for (const ImportedGpu& gpu : findings.node->gpus) islands.push_back(gpu.nvlink_island);
  EXPECT_THAT(islands, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_TRUE(findings.node->nics.empty());
  EXPECT_EQ(findings.node->pcie_switches, 0);
  EXPECT_THAT(findings.asked, testing::Contains(HasSubstr("the file lists no network card")));
}

TEST(NvidiaSmiTopo, GpusWithoutNvLinkAreIslandsOfTheirOwn) {
  TopoText topo = one_nic_each();
  topo.island_of_gpu = {0, 1, 2, 3};
  const ImportedNode node = *read(topo.text()).node;
  EXPECT_EQ(node.gpus[3].nvlink_island, 3);
  EXPECT_EQ(node.gpus[3].nvlink_links, 0);
}

// Four GPUs in a mesh show the links to each peer (4 + 4 + 4), behind a switch all links (12).
TEST(NvidiaSmiTopo, LinksOfAMeshAddUp) {
  TopoText topo = one_nic_each();
  topo.nvlinks = 4;
  EXPECT_EQ(read(topo.text()).node->gpus[0].nvlink_links, 12);
  topo.nvlinks = 12;
  EXPECT_EQ(read(topo.text()).node->gpus[0].nvlink_links, 12);
}

TEST(NvidiaSmiTopo, AllSysMatrixAsksForTheNvLinkDomain) {
  TopoText topo;
  topo.near = std::vector<std::vector<int>>(4);
  topo.numa_of_nic = {2, 2, 2, 2, 2, 2};  // no GPU's node: SYS everywhere
  const ImportFindings findings = read(topo.text());
  EXPECT_EQ(findings.node->gpus.size(), 4u);
  EXPECT_EQ(findings.node->nics.size(), 6u);
  EXPECT_EQ(findings.node->pcie_switches, 0);
  EXPECT_THAT(findings.asked,
              testing::Contains(HasSubstr("nvlink_domain: no GPU is near any NIC")));
}

TEST(NvidiaSmiTopo, NicsWithoutLegendKeepTheirColumns) {
  TopoText topo = one_nic_each();
  topo.legend = false;
  const ImportFindings findings = read(topo.text());
  EXPECT_EQ(findings.node->nics[2].name, "NIC2");
  EXPECT_THAT(findings.warnings,
              ElementsAre(HasSubstr("the legend has no names for NIC0, NIC1, NIC2, NIC3")));
}

// Before drivers of 2022 the columns had the names of the cards, and SYS was SOC.
TEST(NvidiaSmiTopo, OldForm) {
  const ImportedNode node = *read(
                                 "        GPU0  GPU1  mlx5_0  CPU Affinity\n"
                                 "GPU0     X    PHB   PIX     0-7\n"
                                 "GPU1    PHB    X    SOC     8-15\n"
                                 "mlx5_0  PIX   SOC    X\n")
                                 .node;
  EXPECT_EQ(node.nics[0].name, "mlx5_0");
  EXPECT_EQ(node.gpus[1].nvlink_island, 1);
  EXPECT_EQ(node.gpus[0].numa, kUnknown);
  EXPECT_EQ(node.distance[1][0], PcieDistance::kOtherNuma);
}

struct BadTable {
  const char* name;
  const char* from;
  const char* to;
  const char* message;
};

std::ostream& operator<<(std::ostream& stream, const BadTable& table) {
  return stream << table.name;
}

class NvidiaSmiTopoRefusal : public testing::TestWithParam<BadTable> {};

TEST_P(NvidiaSmiTopoRefusal, NamesLineAndCell) {
  std::string text = one_nic_each().text();
  replace(text, GetParam().from, GetParam().to);
  EXPECT_EQ(refusal(text), GetParam().message);
}

const BadTable kBadTables[] = {
    {"UnknownCell", "\nGPU1\tNV18\tX", "\nGPU1\tNVX\tX",
     "topo.txt:3: GPU1, column GPU0: expected PIX, PXB, PHB, NODE, SYS or NV and a number, found "
     "\"NVX\""},
    {"NoSelf", "\nGPU1\tNV18\tX", "\nGPU1\tNV18\tNV18",
     "topo.txt:3: GPU1, column GPU1: expected X, "
     "found \"NV18\""},
    {"Asymmetric", "\nGPU1\tNV18", "\nGPU1\tNV6",
     "topo.txt:3: GPU1, column GPU0: NV6 here, but NV18 the other way round in line 2; expected a "
     "symmetric table"},
    {"AsymmetricNic", "\nNIC0\tPIX", "\nNIC0\tPXB",
     "topo.txt:6: NIC0, column GPU0: PXB here, but PIX the other way round in line 2; expected a "
     "symmetric table"},
    {"ShortRow", "\nNIC3\tSYS\tSYS", "\nNIC3\tSYS",
     "topo.txt:9: NIC3 has 7 cells; expected 8, one for each column"},
    {"RowMissing", "NIC3\tSYS\tSYS\tNODE\tPIX\tSYS\tSYS\tNODE\tX\n", "",
     "topo.txt:1: the table has a column NIC3 but no row of that name; expected one row for each "
     "column"},
    {"RowTwice", "\nGPU1\t", "\nGPU0\t", "topo.txt:3: GPU0 has a row already, in line 2"},
    {"RowUnknown", "\nGPU1\t", "\nGPU9\t",
     "topo.txt:3: expected the name of a column of line 1, found GPU9"},
    {"ColumnTwice", "\tGPU1\t", "\tGPU0\t", "topo.txt:1: two columns are called GPU0"},
    {"LegendUnknown", "  NIC3: mlx5_3", "  NIC4: mlx5_3",
     "topo.txt:21: expected the name of a column of line 1, found NIC4"},
    {"LegendTwice", "  NIC3: mlx5_3", "  NIC2: mlx5_3", "topo.txt:21: NIC2 has a name already"},
    {"SameNames", "  NIC3: mlx5_3", "  NIC3: mlx5_2",
     "topo.txt: NIC Legend: two NICs are called mlx5_2; expected different names"},
    {"NvLinkToNic", "NIC0\tPIX", "NIC0\tNV4",
     "topo.txt:6: NIC0, column GPU0: NV4 here, but PIX the other way round in line 2; expected a "
     "symmetric table"},
    {"NoHeader", "\tGPU0\t", "\tCPU0\t",
     "topo.txt: no header of a topology table; expected a line with GPU0, GPU1, ... as `nvidia-smi "
     "topo -m` prints it"},
};

INSTANTIATE_TEST_SUITE_P(Tables, NvidiaSmiTopoRefusal, testing::ValuesIn(kBadTables),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(NvidiaSmiTopo, RefusesEmptyAndCutText) {
  EXPECT_THAT(refusal(""), HasSubstr("no header of a topology table"));
  const std::string text = one_nic_each().text();
  for (std::size_t length = 0; length < text.find("Legend"); length += 7)
    EXPECT_NE(refusal(text.substr(0, length)).find("topo.txt"), std::string::npos) << length;
}

}  // namespace
}  // namespace transload
