// A node group in full: every NIC, PCIe switches, NUMA nodes, islands, names and sites.
#include "topologies/node_form.h"

#include <gmock/gmock.h>

#include "tests/topologies/loading.h"

namespace transload {
namespace {

constexpr std::int64_t kGb = 1'000'000'000;

TEST(NodeForm, ListsEveryNicWithTheGpusThatUseIt) {
  const Topology topology = load(
      "topology:\n"
      "  nodes:\n"
      "    - name: 'gpu[08-09]'\n"
      "      gpus: 4\n"
      "      numa: [0, 0, 1, 1]\n"
      "      host_memory: {value: 2TB, source: dmidecode}\n"
      "      nics:\n"
      "        - {name: mlx5_0, rate: 50GB/s, numa: 0, gpus: [0, 1]}\n"
      "        - {name: mlx5_2, rate: 25GB/s, rail: 7, numa: 1, gpus: [2-3, 1]}\n"
      "        - {name: mlx5_bond, rate: 12.5GB/s, gpus: []}\n"
      "      pcie:\n"
      "        - {gpus: [0-1], nics: [mlx5_0], uplink: 63GB/s}\n"
      "        - {gpus: [2], nics: [mlx5_2]}\n");
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[0].name, "gpu08");
  EXPECT_EQ(topology.nodes[1].name, "gpu09");
  EXPECT_EQ(topology.nodes[1].host_memory_bytes, 2'000 * kGb);
  ASSERT_EQ(topology.nics.size(), 6U);
  EXPECT_EQ(topology.nics[4].name, "gpu09.mlx5_2");
  EXPECT_EQ(topology.nics[4].rate, 25 * kGb);
  EXPECT_EQ(topology.nics[4].rail, 7);
  EXPECT_EQ(topology.nics[3].rail, 0);
  EXPECT_EQ(topology.nics[5].rail, 2);
  EXPECT_EQ(topology.nics[4].numa, 1);
  EXPECT_EQ(topology.nics[5].numa, -1);
  EXPECT_THAT(topology.gpus[4].nics, testing::ElementsAre(3));
  EXPECT_THAT(topology.gpus[5].nics, testing::ElementsAre(3, 4));
  EXPECT_THAT(topology.gpus[7].nics, testing::ElementsAre(4));
  EXPECT_EQ(topology.gpus[6].numa, 1);
  ASSERT_EQ(topology.pcie_switches.size(), 4U);
  EXPECT_EQ(topology.pcie_switches[2].node, 1);
  EXPECT_EQ(topology.pcie_switches[2].uplink_rate, 63 * kGb);
  EXPECT_EQ(topology.pcie_switches[3].uplink_rate, 0);
  EXPECT_EQ(topology.gpus[5].pcie_switch, 2);
  EXPECT_EQ(topology.gpus[6].pcie_switch, 3);
  EXPECT_EQ(topology.gpus[7].pcie_switch, -1);
  EXPECT_EQ(topology.nics[3].pcie_switch, 2);
  EXPECT_EQ(topology.nics[5].pcie_switch, -1);
}

TEST(NodeForm, SeveralGpusMayShareANic) {
  const Topology topology =
      load("topology: {nodes: [{count: 2, gpus: 5, gpus_per_nic: 2, nic: 50GB/s}]}");
  ASSERT_EQ(topology.nics.size(), 6U);
  std::vector<std::int32_t> nic_of_gpu;
  for (const Gpu& gpu : topology.gpus) {
    ASSERT_EQ(gpu.nics.size(), 1U);
    nic_of_gpu.push_back(gpu.nics[0]);
  }
  EXPECT_THAT(nic_of_gpu, testing::ElementsAre(0, 0, 1, 1, 2, 3, 3, 4, 4, 5));
  EXPECT_EQ(topology.nics[5].rail, 2);
}

TEST(NodeForm, IslandsAreDomainsOfEachNode) {
  const Topology topology = load(
      "topology: {nodes: [{count: 2, gpus: 4, nvlink: 450GB/s, nic: 1GB/s, nvlink_islands: [[0, "
      "2], [1, 3]]}, {gpus: 2, nvlink: 450GB/s, nic: 1GB/s}]}");
  std::vector<std::int32_t> domains;
  for (const Gpu& gpu : topology.gpus) domains.push_back(gpu.domain);
  EXPECT_THAT(domains, testing::ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 4, 4));
  EXPECT_EQ(topology.domain_count, 5);
}

TEST(NodeForm, HealthScalesNvlinkAndNothingElse) {
  const Topology topology = load(
      "topology: {nodes: [{gpus: 2, nvlink: 900GB/s, nvlink_health: {value: 0.75, source: "
      "nvidia-smi}, nic: 50GB/s}]}");
  EXPECT_EQ(topology.gpus[0].nvlink_rate, 675 * kGb);
  EXPECT_EQ(topology.nics[0].rate, 50 * kGb);
}

TEST(NodeForm, GroupsMayHaveEfficienciesAndLatenciesOfTheirOwn) {
  const Topology topology = load(
      "topology:\n"
      "  nodes:\n"
      "    - {gpus: 1, nic: 50GB/s}\n"
      "    - {gpus: 1, nic: 50GB/s, efficiency: {nic: 0.5}, latency: {nic: {latency: 30us}}}\n"
      "  efficiency: {nic: 0.9}\n");
  const LinkCosts& first = nic_costs(topology, topology.nics[0]);
  const LinkCosts& second = nic_costs(topology, topology.nics[1]);
  EXPECT_EQ(first.efficiency_ppm, 900'000);
  EXPECT_EQ(second.efficiency_ppm, 500'000);
  EXPECT_EQ(first.latency_ps, 15'000'000);
  EXPECT_EQ(second.latency_ps, 30'000'000);
  EXPECT_EQ(second.occupancy_ps, first.occupancy_ps);
}

TEST(NodeForm, NamesCountTheNodes) {
  const Topology topology = load(
      "topology: {nodes: [{name: ['a[1-2]', b7], gpus: 1, nic: 1GB/s}, {count: 1, name: c, gpus: "
      "1, nic: 1GB/s, site: berlin}]}");
  std::vector<std::string> names;
  for (const Node& node : topology.nodes) names.push_back(node.name);
  EXPECT_THAT(names, testing::ElementsAre("a1", "a2", "b7", "c"));
  ASSERT_EQ(topology.sites.size(), 2U);
  EXPECT_EQ(topology.sites[static_cast<std::size_t>(topology.nodes[3].site)].name, "berlin");
}

struct Refused {
  const char* group;
  const char* message;
};

TEST(NodeForm, RefusesWhatContradictsItself) {
  const Refused refused[] = {
      {"gpus: 2, nics: [{rate: 1GB/s, gpus: [0]}]", ".nics: no NIC has GPU 1 among its `gpus:`"},
      {"gpus: 1, nics: [{rate: 1GB/s, gpus: [0]}], nic: 1GB/s",
       ".nic: `nics:` lists every NIC of the node; leave this key out"},
      {"gpus: 1, nics: [{rate: 1GB/s, gpus: [0]}], nics_per_gpu: 1",
       ".nics_per_gpu: `nics:` lists every NIC of the node; leave this key out"},
      {"gpus: 1, nics: [{rate: 1GB/s, gpus: [0]}], gpus_per_nic: 1",
       ".gpus_per_nic: `nics:` lists every NIC of the node; leave this key out"},
      {"gpus: 1, nics: [{rate: 0, gpus: [0]}]", ".nics[0].rate: expected a rate above 0, found 0"},
      {"gpus: 1, nics: [{rat: 1GB/s, gpus: [0]}]",
       ".nics[0].rat: unknown key (did you mean rate?)"},
      {"gpus: 1, nics: [{rate: 1GB/s, name: x, gpus: [0]}, {rate: 1GB/s, name: x}]",
       ".nics[1]: a NIC x is there already"},
      {"gpus: 1, nics: [{rate: 1GB/s, gpus: [0], plane: 1}]",
       ".nics[0].plane: expected a whole number from 0 to 0, found 1"},
      {"gpus: 4, nic: 1GB/s, nics_per_gpu: 2, gpus_per_nic: 2",
       ".gpus_per_nic: a NIC for several GPUs and several NICs per GPU at once; expected one of "
       "the two, or `nics:` with the GPUs of each"},
      {"gpus: 2, nic: 1GB/s, gpus_per_nic: 3",
       ".gpus_per_nic: expected a whole number from 1 to 2, found 3"},
      {"gpus: 2, nic: 1GB/s, numa: [0]",
       ".numa: expected one NUMA node for each of the 2 GPUs, found 1"},
      {"gpus: 2, nic: 1GB/s, nvlink_islands: [[0], [1]]",
       ".nvlink_islands: the nodes have no nvlink"},
      {"gpus: 2, nic: 1GB/s, nvlink: 1GB/s, nvlink_islands: [[0], [0, 1]]",
       ".nvlink_islands[1]: GPU 0 stands in two NVLink islands"},
      {"gpus: 2, nic: 1GB/s, nvlink: 1GB/s, nvlink_islands: [[0]]",
       ".nvlink_islands: GPU 1 stands in no NVLink islands"},
      {"gpus: 2, nic: 1GB/s, nvlink: 1GB/s, nvlink_domain: r, nvlink_islands: [[0, 1]]",
       ".nvlink_islands: nvlink_domain joins whole nodes; expected one of the two keys"},
      {"gpus: 2, nic: 1GB/s, nvlink_health: 0.5", ".nvlink_health: the nodes have no nvlink"},
      {"gpus: 2, nic: 1GB/s, nvlink: 1GB/s, nvlink_health: 1.5",
       ".nvlink_health: expected a number above 0 and at most 1, found 1.5"},
      {"gpus: 2, nic: 1GB/s, pcie: [{gpus: [0]}, {gpus: [0-1]}]",
       ".pcie[1].gpus: GPU 0 hangs at another PCIe switch"},
      {"gpus: 1, nics: [{name: x, rate: 1GB/s, gpus: [0]}], pcie: [{nics: [x]}, {nics: [x]}]",
       ".pcie[1].nics[0]: this NIC hangs at another PCIe switch"},
      {"gpus: 1, nics: [{name: x, rate: 1GB/s, gpus: [0]}], pcie: [{nics: [y]}]",
       ".pcie[0].nics[0]: no NIC of the node is called y"},
      {"gpus: 1, nic: 1GB/s, pcie: [{uplink: 0}]",
       ".pcie[0].uplink: expected a rate above 0, found 0"},
      {"gpus: 1, nic: 1GB/s, name: 'a[1-3]', count: 2", ".name: 3 names for 2 nodes"},
      {"gpus: 1, nic: 1GB/s, efficiency: {nick: 0.5}",
       ".efficiency.nick: unknown key (did you mean nic?)"},
  };
  for (const Refused& row : refused)
    EXPECT_EQ(refusal(std::string("topology: {nodes: [{") + row.group + "}]}"),
              std::string("job.yaml:1: topology.nodes[0]") + row.message);
}

TEST(NodeForm, RefusesGpusThatDoNotExist) {
  for (const char* group :
       {"gpus: 1, nics: [{rate: 1GB/s, gpus: [1]}]", "gpus: 1, nic: 1GB/s, pcie: [{gpus: [1]}]",
        "gpus: 1, nic: 1GB/s, nvlink: 1GB/s, nvlink_islands: [[0, 1]]"})
    EXPECT_THAT(refusal(std::string("topology: {nodes: [{") + group + "}]}"),
                testing::HasSubstr("1"))
        << group;
}

}  // namespace
}  // namespace transload
