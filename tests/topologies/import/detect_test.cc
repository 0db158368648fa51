#include "topologies/import/detect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "tests/testing/temp_path.h"
#include "tests/topologies/import/fabric_refusal.h"

namespace transload {
namespace {

using ::testing::HasSubstr;
using Kind = TopologyFileKind;

std::string refusal(const std::string& text) {
  return testing::refusal(detect_topology_file, text);
}

TEST(DetectTopologyFile, KnowsEveryKindByItsContent) {
  const std::vector<std::pair<std::string, Kind>> texts = {
      {"<system version=\"1\">\n</system>\n", Kind::kNcclXml},
      {"<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology/>\n",
       Kind::kHwlocXml},
      {"\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV18\tPIX\n", Kind::kNvidiaSmiTopo},
      {"\t\x1b[4mGPU0\tNIC0\x1b[0m\nGPU0\t X \tPIX\n", Kind::kNvidiaSmiTopo},
      {"# my site\nSwitchName=a Nodes=n[1-2]\n", Kind::kSlurmTopology},
      {"blockname=a Nodes=n1\n", Kind::kSlurmTopology},
      {"#\n# Topology file: generated on\nvendid=0x2c9\nswitchguid=0x1(1)\n", Kind::kIbnetdiscover},
      {"# drawn\nswitches:\n  a:\nblocks:\n", Kind::kTopograph},
      {"# nccl-tests version 2\n# Collective test starting: alltoall_perf\n", Kind::kNcclTests},
      {"# busbw\nsize,2_nodes\n1M,3\n", Kind::kNcclTests},
      {"nvbandwidth Version: v0.8\nSUM device_local_copy 1\n", Kind::kNvbandwidth},
      {"SUM device_local_copy 1\n", Kind::kNvbandwidth},
      {"# 8-byte ib_write_lat, microseconds\n", Kind::kIbWriteLat},
      {" #bytes #iterations t_min[usec] t_max[usec] t_typical[usec]\n", Kind::kIbWriteLat}};
  for (const auto& [text, kind] : texts)
    EXPECT_EQ(detect_topology_file(text, "FILE"), kind) << text;
}

TEST(DetectTopologyFile, ListsTheKindsWhereNoneFits) {
  const std::string message = refusal("hello\n");
  for (const char* kind :
       {"NCCL topology XML", "hwloc", "nvidia-smi topo -m", "topology.conf", "ibnetdiscover",
        "topograph", "nccl-tests", "nvbandwidth", "ib_write_lat"})
    EXPECT_THAT(message, HasSubstr(kind));
}

TEST(DetectTopologyFile, NamesBothReadings) {
  const std::string message = refusal("SwitchName=a Nodes=n1\nSUM device_local_copy 1\n");
  EXPECT_THAT(message, HasSubstr("FILE:2:"));
  EXPECT_THAT(message, HasSubstr("nvbandwidth"));
  EXPECT_THAT(message, HasSubstr("topology.conf"));
}

TEST(DetectTopologyFile, RefusesWhatIsNoText) {
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal(" \n\t\n"), HasSubstr("empty"));
  EXPECT_THAT(refusal(std::string("a\0b", 3)), HasSubstr("binary"));
  EXPECT_THAT(refusal("<html></html>"), HasSubstr("no file that can be imported"));
}

TEST(DetectTopologyFile, KnowsOurOwnFiles) {
  EXPECT_THAT(refusal("nodes:\n  - {count: 2}\n"), HasSubstr("topology file of Transload"));
  EXPECT_THAT(refusal("topology: {name: dgx-h100}\n"), HasSubstr("job already"));
}

TEST(ReadTopologyText, DropsTheByteOrderMark) {
  const std::string path = testing::temp_path("bom.conf");
  std::ofstream(path, std::ios::binary) << "\xEF\xBB\xBFSwitchName=a Nodes=n1\n";
  EXPECT_EQ(read_topology_text(path), "SwitchName=a Nodes=n1\n");
  std::filesystem::remove(path);
}

TEST(ReadTopologyText, RefusesWhatIsNoPlainFile) {
  EXPECT_THROW(read_topology_text(testing::temp_path("missing")), InputError);
  EXPECT_THROW(read_topology_text("/"), InputError);
  EXPECT_THROW(read_topology_text("/dev/zero"), InputError);
}

TEST(ReadTopologyText, RefusesWhatIsTooLarge) {
  const std::string path = testing::temp_path("large");
  std::ofstream(path) << "x";
  std::filesystem::resize_file(path, std::uintmax_t{257} << 20);  // sparse: no disk is used
  EXPECT_THROW(read_topology_text(path), InputError);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace transload
