// NCCL topology XML: dumps with <gpu>, <net> and <nvlink>, bare files with classes only, and what
// they cannot say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "tests/topologies/import/node_files.h"
#include "topologies/import/nic_choice.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ImportFindings read(const std::string& text) { return read_nccl_xml(text, "topo.xml"); }
std::string refusal(const std::string& text) {
  return import_refusal([&] { read(text); });
}

std::string pci(const std::string& bus, const std::string& attributes,
                const std::string& inside = "") {
  return fmt::format("<pci busid=\"{}\" {}>{}</pci>\n", bus, attributes, inside);
}
const std::string kLink = " link_speed=\"16 GT/s\" link_width=\"16\"";
std::string bare_switch(const std::string& inside) {
  return pci("ffff:ff:01.0", "class=\"0x060400\"" + kLink, inside);
}
std::string bare_gpu(const std::string& bus) { return pci(bus, "class=\"0x030200\"" + kLink); }
std::string bare_nic(const std::string& bus) { return pci(bus, "class=\"0x020700\"" + kLink); }
std::string cpu(int numa, const std::string& inside) {
  return fmt::format("<cpu numaid=\"{}\">\n{}</cpu>\n", numa, inside);
}
std::string system_of(const std::string& inside) {
  return "<system version=\"1\">\n" + inside + "</system>\n";
}

// A GPU as NCCL dumps it; `links` are <nvlink> elements.
std::string dumped_gpu(int dev, const std::string& bus, const std::string& links) {
  return pci(
      bus, "class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\"" + kLink,
      fmt::format("<gpu dev=\"{}\" sm=\"90\" rank=\"{}\" gdr=\"1\">{}</gpu>", dev, dev, links));
}
std::string nvlink(const std::string& target, int count, const std::string& target_class) {
  return fmt::format("<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>", target, count,
                     target_class);
}
const std::string kSwitchClass = "0x068000";
const std::string kGpuClass = "0x030200";

std::vector<std::int32_t> islands(const ImportFindings& findings) {
  std::vector<std::int32_t> numbers;
  for (const ImportedGpu& gpu : findings.node->gpus) numbers.push_back(gpu.nvlink_island);
  return numbers;
}

// The form of Azure's and Oracle's files: two GPUs and two cards below each switch. GPUs are
// numbered by PCI address, not in the order of the file.
TEST(NcclXml, BareFile) {
  const ImportFindings findings =
      read(system_of(cpu(0, bare_switch(bare_gpu("0003:00:00.0") + bare_nic("0103:00:00.0") +
                                        bare_gpu("0004:00:00.0") + bare_nic("0104:00:00.0"))) +
                     cpu(1, bare_switch(bare_gpu("0001:00:00.0") + bare_nic("0101:00:00.0") +
                                        bare_gpu("0002:00:00.0") + bare_nic("0102:00:00.0")))));
  EXPECT_EQ(findings.kind, "nccl-xml");
  const ImportedNode& node = *findings.node;
  ASSERT_EQ(node.gpus.size(), 4u);
  ASSERT_EQ(node.nics.size(), 4u);
  EXPECT_EQ(node.pcie_switches, 2);
  EXPECT_EQ(node.gpus[0].bus, "0001:00:00.0");
  EXPECT_EQ(node.gpus[0].name, "GPU0");
  EXPECT_EQ(node.gpus[0].numa, 1);
  EXPECT_EQ(node.gpus[0].pcie_rate, 31'507'692'307);
  EXPECT_EQ(node.nics[0].name, "0101:00:00.0");
  EXPECT_EQ(node.nics[0].rate, 0);
  EXPECT_EQ(node.distance[0][0], PcieDistance::kSameBridge);
  EXPECT_EQ(node.distance[0][2], PcieDistance::kOtherNuma);
  EXPECT_THAT(islands(findings), ElementsAre(kUnknown, kUnknown, kUnknown, kUnknown));
  EXPECT_THAT(findings.asked, ElementsAre(HasSubstr("nvlink: the file says nothing"),
                                          HasSubstr("gpu: which model are GPU0"),
                                          HasSubstr("nic: which network rate have 0101:00:00.0")));
  EXPECT_THAT(findings.warnings, ElementsAre(HasSubstr("no names for 4 NICs")));
  std::vector<std::string> asked;
  const auto nics = choose_nics(node, all_nics(node), asked);
  EXPECT_THAT(nics, ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
}

// The form of OCI's dump: two levels of switches, cards with two ports, NVSwitches as targets.
TEST(NcclXml, DumpWithNvSwitchesAndTwoPortCards) {
  const auto half = [](int gpu) {
    const std::string bus = fmt::format("0000:{}0:00.0", gpu);
    const std::string links =
        nvlink("0000:1a:00.0", 9, kSwitchClass) + nvlink("0000:1b:00.0", 9, kSwitchClass);
    const std::string nets = fmt::format(
        "<nic><net name=\"mlx5_{}\" dev=\"{}\" speed=\"180000\" port=\"1\"/>"
        "<net name=\"mlx5_{}\" dev=\"{}\" speed=\"180000\" port=\"2\"/></nic>",
        2 * gpu, 2 * gpu, 2 * gpu + 1, 2 * gpu + 1);
    return cpu(gpu, bare_switch(bare_switch(dumped_gpu(gpu, bus, links)) +
                                bare_switch(pci(fmt::format("0000:{}1:00.0", gpu),
                                                "class=\"0x020000\" vendor=\"0x15b3\" "
                                                "device=\"0x1021\"" +
                                                    kLink,
                                                nets))));
  };
  const ImportFindings findings = read(system_of(half(0) + half(1)));
  const ImportedNode& node = *findings.node;
  EXPECT_EQ(node.gpus.size(), 2u);
  ASSERT_EQ(node.nics.size(), 4u);
  EXPECT_EQ(node.pcie_switches, 2);
  EXPECT_THAT(islands(findings), ElementsAre(0, 0));
  EXPECT_EQ(node.gpus[1].nvlink_links, 18);
  EXPECT_EQ(node.gpus[1].model, "h100");
  EXPECT_EQ(node.nics[3].name, "mlx5_3");
  EXPECT_EQ(node.nics[3].rate, 22'500'000'000);  // 180000 Mb/s
  EXPECT_EQ(node.distance[0][0], PcieDistance::kSameSwitch);
  EXPECT_TRUE(findings.asked.empty());
  // 2 x 22.5 GB/s is more than the 31.5 GB/s of the slot.
  EXPECT_THAT(findings.warnings,
              ElementsAre(HasSubstr("22.5 GB/s is no rate of Ethernet or InfiniBand"),
                          HasSubstr("ports of card 0000:01:00.0 have 45 GB/s"),
                          HasSubstr("ports of card 0000:11:00.0 have 45 GB/s")));
  std::vector<std::string> asked;
  EXPECT_THAT(choose_nics(node, all_nics(node), asked),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

// Two pairs, each joined directly; the order of CUDA devices is not that of the file.
TEST(NcclXml, NvLinksToPeersMakePairs) {
  const std::string text = system_of(
      cpu(0, dumped_gpu(3, "0000:01:00.0", nvlink("0000:02:00.0", 4, kGpuClass)) +
                 dumped_gpu(2, "0000:02:00.0", nvlink("0000:01:00.0", 4, kGpuClass)) +
                 dumped_gpu(1, "0000:03:00.0", nvlink("0000:04:00.0", 4, kGpuClass)) +
                 dumped_gpu(0, "0000:04:00.0", nvlink("00000000:03:00.0", 4, kGpuClass))));
  const ImportFindings findings = read(text);
  EXPECT_EQ(findings.node->gpus[0].bus, "0000:04:00.0");
  EXPECT_THAT(islands(findings), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(findings.node->gpus[0].nvlink_links, 4);
  EXPECT_EQ(findings.node->pcie_switches, 0);
  EXPECT_EQ(findings.node->gpus[0].pcie_switch, kUnknown);
}

// Azure's NCv4: each GPU is written as its own peer, because the machine hides the pairs.
TEST(NcclXml, NvLinksThatEndAtTheGpuItselfAreAsked) {
  const ImportFindings findings = read(system_of(
      cpu(0, dumped_gpu(0, "0001:00:00.0", nvlink("0001:00:00.0", 12, kGpuClass)) +
                 "<nic><net name=\"eth0\" dev=\"0\" speed=\"100000\" port=\"0\"/></nic>\n") +
      cpu(1, dumped_gpu(1, "0002:00:00.0", nvlink("0002:00:00.0", 12, kGpuClass)))));
  EXPECT_THAT(islands(findings), ElementsAre(kUnknown, kUnknown));
  EXPECT_EQ(findings.node->gpus[0].nvlink_links, 12);
  EXPECT_THAT(
      findings.asked,
      ElementsAre(HasSubstr("NVLinks of GPU0, GPU1 are written as ending at the GPU itself")));
  EXPECT_EQ(findings.node->nics[0].rate, 12'500'000'000);
  EXPECT_EQ(findings.node->nics[0].numa, 0);
  EXPECT_EQ(findings.node->distance[0][0], PcieDistance::kHostBridge);
  EXPECT_EQ(findings.node->distance[1][0], PcieDistance::kOtherNuma);
}

// NCCL writes a made-up address for switches that it cannot see.
TEST(NcclXml, HiddenNvSwitchesAreOneIsland) {
  const std::string links = nvlink("fffffff:ffff:ff", 18, kSwitchClass);
  EXPECT_THAT(islands(read(system_of(cpu(0, dumped_gpu(0, "0000:01:00.0", links) +
                                                dumped_gpu(1, "0000:02:00.0", links))))),
              ElementsAre(0, 0));
}

// One GPU as NCCL dumps it, one written by hand: each question names only what it is about.
TEST(NcclXml, FileThatSpeaksOfSomeGpusOnly) {
  const ImportFindings findings = read(
      system_of(cpu(0, dumped_gpu(1, "0000:02:00.0", nvlink("0000:1a:00.0", 18, kSwitchClass)) +
                           bare_gpu("0000:01:00.0"))));
  EXPECT_EQ(findings.node->gpus[0].bus, "0000:01:00.0");
  EXPECT_THAT(islands(findings), ElementsAre(kUnknown, 1));
  EXPECT_THAT(findings.asked,
              ElementsAre(HasSubstr("nothing about the NVLinks of GPU0; which"),
                          HasSubstr("gpus: some GPUs have a number (gpu.dev) and some have none"),
                          HasSubstr("gpu: which model are GPU0?"), HasSubstr("nics: ")));
}

TEST(NcclXml, DumpWithoutNvLinksHasNone) {
  const ImportFindings findings = read(
      system_of(cpu(0, dumped_gpu(0, "0000:01:00.0", "") + dumped_gpu(1, "0000:02:00.0", ""))));
  EXPECT_THAT(islands(findings), ElementsAre(0, 1));
  EXPECT_THAT(findings.asked, Not(Contains(HasSubstr("nvlink"))));
}

TEST(NcclXml, GpusThatCannotHaveNvLinkAreNotAskedAbout) {
  const std::string a10g = "class=\"0x030200\" vendor=\"0x10de\" device=\"0x2237\"" + kLink;
  const ImportFindings findings =
      read(system_of(cpu(0, pci("0000:01:00.0", a10g) + pci("0000:02:00.0", a10g))));
  EXPECT_THAT(islands(findings), ElementsAre(0, 1));
  EXPECT_THAT(findings.asked, Not(Contains(HasSubstr("nvlink"))));
}

// aws g5: PCI entries without a class, so that nothing tells GPUs from NICs.
TEST(NcclXml, RefusesDevicesWithoutClass) {
  EXPECT_EQ(refusal(system_of(cpu(0,
                                  "<pci busid=\"0000:00:16.0\"/>\n<pci "
                                  "busid=\"0000:00:17.0\"/>\n"))),
            "topo.xml:3: pci.class: 2 PCI devices without a class (0000:00:16.0, 0000:00:17.0): "
            "GPUs cannot be told from NICs. NCCL completes such a file from the machine itself; "
            "import what it dumps there (NCCL_TOPO_DUMP_FILE)");
  const ImportFindings some =
      read(system_of(cpu(0, bare_gpu("0000:00:15.0") + "<pci busid=\"0000:00:16.0\"/>\n")));
  EXPECT_THAT(some.asked, Contains(HasSubstr("pci: what are 0000:00:16.0?")));
}

// data/cases.json RC-135: missing attributes get a default and a warning.
TEST(NcclXml, RC135_MissingAttributesAreWarnedAbout) {
  const ImportFindings findings = read(system_of(
      "<cpu>\n" + pci("0000:01:00.0", "vendor=\"0x10de\" device=\"0x20b0\"") +
      pci("0000:02:00.0", "class=\"0x030200\" link_speed=\"8 GT/s\"") +
      pci("0000:03:00.0", "class=\"0x030200\" link_speed=\"Unknown speed\" link_width=\"0\"") +
      "</cpu>\n"));
  ASSERT_EQ(findings.node->gpus.size(), 3u);
  EXPECT_EQ(findings.node->gpus[0].model, "a100-40gb");
  EXPECT_EQ(findings.node->gpus[0].pcie_rate, 0);
  EXPECT_EQ(findings.node->gpus[0].numa, kUnknown);
  EXPECT_EQ(findings.node->gpus[1].pcie_rate, 15'753'846'153);
  EXPECT_THAT(
      findings.warnings,
      ElementsAre("line 2: the attribute numaid of <cpu> is missing; its devices get no NUMA node",
                  "link_speed is missing at 2 PCI devices; their PCIe rate is left open",
                  "link_width is missing at 1 PCI device; taken as 16 lanes",
                  "class is missing at 1 PCI device; taken from the device id"));
}

TEST(NcclXml, NamesWhatItLeavesOut) {
  const ImportFindings findings = read(system_of(
      cpu(0, dumped_gpu(0, "0000:01:00.0",
                        "<c2c bw=\"400\" count=\"1\"/>" + nvlink("0000:99:00.0", 4, kGpuClass)) +
                 pci("0000:04:00.0", "class=\"0x010802\"") +
                 pci("0000:05:00.0", "class=\"0x020000\" vendor=\"0x1d0f\" device=\"0xec20\""))));
  EXPECT_THAT(
      findings.ignored,
      ElementsAre("1 x <c2c> of <gpu>", "1 x <nvlink> to a GPU that the file does not list",
                  "1 x Elastic Network Adapter (no RDMA)", "1 x PCI devices of class 0x010802"));
  EXPECT_TRUE(findings.node->nics.empty());
}

TEST(NcclXml, PortsOfOneNameAreToldApart) {
  const ImportFindings findings =
      read(system_of(cpu(0, bare_gpu("0000:01:00.0") +
                                pci("0000:02:00.0", "class=\"0x020700\"",
                                    "<nic><net name=\"mlx5_0\" port=\"1\" speed=\"200000\"/>"
                                    "<net name=\"mlx5_0\" port=\"2\" speed=\"200000\"/></nic>"))));
  ASSERT_EQ(findings.node->nics.size(), 2u);
  EXPECT_EQ(findings.node->nics[0].name, "mlx5_0:1");
  EXPECT_EQ(findings.node->nics[1].name, "mlx5_0:2");
}

struct BadXml {
  const char* name;
  std::string text;
  const char* message;
};

std::ostream& operator<<(std::ostream& stream, const BadXml& bad) { return stream << bad.name; }

class NcclXmlRefusal : public testing::TestWithParam<BadXml> {};

TEST_P(NcclXmlRefusal, NamesLineAndAttribute) {
  EXPECT_EQ(refusal(GetParam().text), GetParam().message);
}

const BadXml kBadFiles[] = {
    {"Empty", "", "topo.xml:1: not well-formed XML: No document element found"},
    {"Cut", "<system version=\"1\">\n<cpu numaid=\"0\">\n",
     "topo.xml:2: not well-formed XML: Start-end tags mismatch"},
    {"OtherRoot", "<topology/>",
     "topo.xml:1: topology: expected <system>, the outermost element of an NCCL topology"},
    {"NoGpu", system_of(cpu(0, "")), "topo.xml: the file lists no GPU"},
    {"BusMissing", system_of(cpu(0, "<pci class=\"0x030200\"/>\n")),
     "topo.xml:3: pci: the attribute busid is missing"},
    {"BusMalformed", system_of(cpu(0, bare_gpu("01:00"))),
     "topo.xml:3: pci.busid: expected a PCI address such as 0000:0f:00.0, found 01:00"},
    {"ClassMalformed", system_of(cpu(0, pci("0000:01:00.0", "class=\"gpu\""))),
     "topo.xml:3: pci.class: expected a hexadecimal number, found gpu"},
    {"NumaMalformed", system_of("<cpu numaid=\"left\"/>\n"),
     "topo.xml:2: cpu.numaid: expected a whole number, found left"},
    {"NumaNegative", system_of("<cpu numaid=\"-2\"/>\n"),
     "topo.xml:2: cpu.numaid: expected a NUMA node, found -2"},
    {"SameGpuTwice", system_of(cpu(0, bare_gpu("0000:01:00.0") + bare_gpu("0000:01:00.0"))),
     "topo.xml:4: GPU: 0000:01:00.0 is listed twice, first in line 3; expected one entry for each "
     "device"},
    {"SameNumberTwice",
     system_of(cpu(0, dumped_gpu(1, "0000:01:00.0", "") + dumped_gpu(1, "0000:02:00.0", ""))),
     "topo.xml:4: gpu.dev: GPU 1 is listed twice, first in line 3; expected one entry for each "
     "device"},
    {"LinkSpeed",
     system_of(cpu(0, pci("0000:01:00.0",
                          "class=\"0x030200\" link_speed=\"fast\" "
                          "link_width=\"16\""))),
     "topo.xml:3: pci.link_speed: expected a PCIe signal rate such as \"32.0 GT/s PCIe\" and 1 to "
     "32 lanes, found \"fast\" and 16"},
    {"LinkCount",
     system_of(cpu(0, dumped_gpu(0, "0000:01:00.0", nvlink("0000:02:00.0", 0, kGpuClass)))),
     "topo.xml:3: nvlink.count: expected 1 to 64 links, found 0"},
    {"NetSpeed",
     system_of(cpu(0, bare_gpu("0000:01:00.0") + "<nic><net name=\"a\" speed=\"-1\"/></nic>\n")),
     "topo.xml:4: net.speed: expected a rate in Mb/s, found -1"},
    {"TwoHosts",
     system_of("<cpu numaid=\"0\" host_hash=\"0x1\"/>\n<cpu numaid=\"0\" host_hash=\"0x2\"/>\n"),
     "topo.xml: cpu.host_hash: the file describes 2 hosts; expected a dump of one"},
};

INSTANTIATE_TEST_SUITE_P(Files, NcclXmlRefusal, testing::ValuesIn(kBadFiles),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(NcclXml, RefusesBottomlessNesting) {
  std::string deep;
  for (int level = 0; level < 100000; ++level) deep += "<pci busid=\"0000:01:00.0\">";
  for (int level = 0; level < 100000; ++level) deep += "</pci>";
  EXPECT_THAT(refusal(system_of(cpu(0, deep))), HasSubstr("nested deeper than 128 levels"));
}

TEST(NcclXml, RefusesMoreDevicesThanANodeHas) {
  std::string many;
  for (int gpu = 0; gpu < 1025; ++gpu) many += bare_gpu(fmt::format("{:04x}:01:00.0", gpu));
  EXPECT_EQ(refusal(system_of(cpu(0, many))),
            "topo.xml: 1025 GPUs in one node; expected at most 1024");
}

}  // namespace
}  // namespace transload
