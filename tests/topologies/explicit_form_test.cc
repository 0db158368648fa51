// The explicit form, inline and from files, and lists of several topologies.
#include <gmock/gmock.h>

#include "tests/topologies/loading.h"
#include "topologies/efficiency_ranges.h"

namespace transload {
namespace {

std::vector<std::int32_t> domains_of(const Topology& topology) {
  std::vector<std::int32_t> domains;
  for (const Gpu& gpu : topology.gpus) domains.push_back(gpu.domain);
  return domains;
}

constexpr const char* kTwoGroups =
    "topology:\n"
    "  nodes: [{gpus: 2, nic: 1B/s, nvlink: 9B/s}, {gpus: 4, nic: 1B/s, nvlink: 9B/s}]\n"
    "  efficiency: 1\n"
    "  latency: 0\n";

TEST(TopologyLoader, TwoGroupsOfUnequalNodesAreTwoDomains) {
  const Topology topology = load(kTwoGroups);
  EXPECT_EQ(topology.name, "inline");
  EXPECT_TRUE(topology.unit_test_rates);
  EXPECT_EQ(topology.fabric_kind, "non-blocking");
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[1].first_gpu, 2);
  EXPECT_EQ(topology.nodes[1].gpu_count, 4);
  EXPECT_EQ(domains_of(topology), (std::vector<std::int32_t>{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(topology.domain_count, 2);
  ASSERT_EQ(topology.nics.size(), 6U);
  for (std::size_t device = 0; device < 6; ++device) {
    EXPECT_EQ(topology.gpus[device].nics,
              std::vector<std::int32_t>{static_cast<std::int32_t>(device)});
    EXPECT_EQ(topology.gpus[device].nvlink_rate, 9);
    EXPECT_EQ(achieved_rate(topology.nics[device].rate, first_nic_costs(topology)), 1);
  }
  EXPECT_EQ(topology.nics[5].rail, 3);
}

TEST(TopologyLoader, PlainEfficiencyAndLatencyHoldForEveryKind) {
  const Topology exact = load(kTwoGroups);
  const Topology slow = load(
      "topology: {nodes: [{gpus: 1, nic: 100B/s}], efficiency: {value: 0.25, source: guess},"
      " latency: 2us}");
  for (const auto costs_of : {first_nic_costs, first_nvlink_costs, first_copy_costs}) {
    EXPECT_EQ(costs_of(exact).efficiency_ppm, 1'000'000);
    EXPECT_EQ(costs_of(exact).latency_ps, 0);
    EXPECT_EQ(costs_of(exact).occupancy_ps, 0);
    EXPECT_EQ(costs_of(slow).efficiency_ppm, 250'000);
    EXPECT_EQ(costs_of(slow).efficiency_source, "guess");
    EXPECT_EQ(costs_of(slow).latency_ps, 2'000'000);
    EXPECT_EQ(costs_of(slow).occupancy_ps, 2'000'000);
    EXPECT_EQ(costs_of(slow).latency_source, "stated by the user");
  }
}

TEST(TopologyLoader, EfficienciesMayHaveRanges) {
  const Topology topology = load(
      "topology: {nodes: [{gpus: 1, nic: 100B/s}], efficiency: {nic: {low: 0.5, likely: 0.75, "
      "high: 0.875, source: bench}, nvlink: {value: 0.5, low: 0.25, high: 0.5}, copy: 0.5}}");
  EXPECT_EQ(first_nic_costs(topology).efficiency_ppm, 750'000);
  EXPECT_EQ(first_nic_costs(topology).efficiency_source, "bench");
  EXPECT_EQ(efficiency_ranges(topology),
            (std::vector<EfficiencyRange>{{"nic", 500'000, 750'000, 875'000},
                                          {"nvlink", 250'000, 500'000, 500'000}}))
      << "a figure of one's own takes the library's range away";
}

TEST(TopologyLoader, RangesOfTheLibraryAndOfParts) {
  const std::vector<EfficiencyRange> h100 = {{"nic", 920'000, 950'000, 980'000},
                                             {"nvlink", 750'000, 820'000, 840'000},
                                             {"copy", 760'000, 860'000, 870'000}};
  EXPECT_EQ(efficiency_ranges(load("topology: {name: dgx-h100, nodes: 1}")), h100);
  EXPECT_EQ(efficiency_ranges(load("topology: {name: dgx-h100, nodes: 1, efficiency: 0.9}")),
            std::vector<EfficiencyRange>{});
  // NICs and copies are alike in both parts.
  const auto joined =
      efficiency_ranges(load("topology: [{name: dgx-h100, nodes: 1}, {name: dgx-b200, nodes: 1}]"));
  EXPECT_EQ(joined.size(), 4U);
  EXPECT_EQ(joined.back(), (EfficiencyRange{"nvlink", 760'000, 850'000, 860'000}));
}

TEST(TopologyLoader, RangesHoldTheirEfficiency) {
  const auto refused = [](const std::string& range) {
    return refusal("topology: {nodes: [{gpus: 1, nic: 100B/s}], efficiency: {nic: {" + range +
                   "}}}");
  };
  EXPECT_THAT(refused("value: 0.5, low: 0.6, high: 0.7"),
              testing::HasSubstr("nic.low: expected at most"));
  EXPECT_THAT(refused("value: 0.5, low: 0.4, high: 0.45"),
              testing::HasSubstr("nic.high: expected at least"));
  EXPECT_THAT(refused("value: 0.5, low: 0.4"), testing::HasSubstr("found only one"));
  EXPECT_THAT(refused("value: 0.5, likely: 0.5"), testing::HasSubstr("found both"));
  EXPECT_THAT(refused("low: 0.4, high: 0.5"), testing::HasSubstr("value is missing"));
  EXPECT_THAT(refused("value: 0.5, low: 0.4, high: 1.5"),
              testing::HasSubstr("at most 1, found 1.5"));
}

TEST(TopologyLoader, MapsOfEfficiencyAndLatencyAreReadKindByKind) {
  const Topology topology = load(
      "topology:\n"
      "  nodes: [{gpus: 1, nic: 100B/s}]\n"
      "  efficiency: {nic: 0.5, nvlink: 0.6, copy: {value: 0.7, source: bench}}\n"
      "  latency:\n"
      "    nic: {latency: 1us, occupancy: 2us, source: trace}\n"
      "    nvlink: {latency: 3us}\n"
      "    copy: {occupancy: 4us}\n");
  EXPECT_EQ(first_nic_costs(topology).efficiency_ppm, 500'000);
  EXPECT_EQ(first_nvlink_costs(topology).efficiency_ppm, 600'000);
  EXPECT_EQ(first_copy_costs(topology).efficiency_ppm, 700'000);
  EXPECT_EQ(first_copy_costs(topology).efficiency_source, "bench");
  EXPECT_EQ(first_nic_costs(topology).latency_ps, 1'000'000);
  EXPECT_EQ(first_nic_costs(topology).occupancy_ps, 2'000'000);
  EXPECT_EQ(first_nic_costs(topology).latency_source, "trace");
  EXPECT_EQ(first_nvlink_costs(topology).latency_ps, 3'000'000);
  EXPECT_EQ(first_nvlink_costs(topology).occupancy_ps, 8'000'000);
  EXPECT_EQ(first_copy_costs(topology).latency_ps, 0);
  EXPECT_EQ(first_copy_costs(topology).occupancy_ps, 4'000'000);
}

TEST(TopologyLoader, DefaultsOfTheLibraryHoldWhereNothingIsStated) {
  const Topology topology = load("topology: {nodes: [{gpus: 1, nic: 50GB/s}]}");
  EXPECT_EQ(first_nic_costs(topology).efficiency_ppm, 950'000);
  EXPECT_EQ(first_nvlink_costs(topology).efficiency_ppm, 820'000);
  EXPECT_EQ(first_copy_costs(topology).efficiency_ppm, 860'000);
  EXPECT_THAT(first_nic_costs(topology).efficiency_source, testing::HasSubstr("nccl-tests"));
  EXPECT_THAT(first_copy_costs(topology).latency_source, testing::StartsWith("unverified"));
}

TEST(TopologyLoader, WithoutAGpuCopiesCostNoTime) {
  const Topology topology =
      load("topology: {nodes: [{gpus: 1, nic: 1GB/s}, {gpus: 1, gpu: h100, nic: 1GB/s}]}");
  ASSERT_EQ(topology.gpu_models.size(), 2U);
  EXPECT_EQ(topology.gpus[0].model, 0);
  EXPECT_EQ(topology.gpu_models[0].hbm_rate, 0);
  EXPECT_TRUE(topology.gpu_models[0].copy_rates.empty());
  EXPECT_EQ(topology.gpus[1].model, 1);
  EXPECT_EQ(topology.gpu_models[1].name, "h100");
}

TEST(TopologyLoader, WithoutNvlinkEveryGpuIsADomain) {
  for (const char* nvlink : {"", ", nvlink: 0"}) {
    const Topology topology =
        load(std::string("topology: {nodes: [{count: 2, gpus: 2, nic: 9GB/s") + nvlink + "}]}");
    EXPECT_EQ(domains_of(topology), (std::vector<std::int32_t>{0, 1, 2, 3}));
    EXPECT_EQ(topology.domain_count, 4);
    EXPECT_EQ(topology.gpus[0].nvlink_rate, 0);
  }
}

TEST(TopologyLoader, NodesThatShareANameShareADomain) {
  const Topology topology = load(
      "topology:\n"
      "  nodes:\n"
      "    - {count: 2, gpus: 1, nic: 9GB/s, nvlink: 90GB/s, nvlink_domain: rack0}\n"
      "    - {count: 2, gpus: 1, nic: 9GB/s, nvlink: 90GB/s}\n"
      "    - {gpus: 2, nic: 9GB/s, nvlink: 45GB/s, nvlink_domain: rack1}\n"
      "    - {gpus: 1, nic: 9GB/s, nvlink: 45GB/s, nvlink_domain: rack0}\n");
  EXPECT_EQ(domains_of(topology), (std::vector<std::int32_t>{0, 0, 1, 2, 3, 3, 0}));
  EXPECT_EQ(topology.domain_count, 4);
  EXPECT_EQ(topology.gpus[0].nvlink_rate, 90'000'000'000);
  EXPECT_EQ(topology.gpus[6].nvlink_rate, 45'000'000'000);
}

TEST(TopologyLoader, BlocksRepeatAGroupWithADomainEach) {
  const Topology topology = load(
      "topology: {nodes: [{blocks: 3, count: 2, gpus: 1, nic: 9GB/s, nvlink: 9GB/s, "
      "nvlink_domain: rack}]}");
  EXPECT_EQ(domains_of(topology), (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2}));
}

TEST(TopologyLoader, ReadsFilesFromTheJobsFolder) {
  TemporaryFolder folder;
  folder.write("clusters/lab.yaml",
               "nodes: [{gpus: 3, nic: 2GB/s}]\nfabric: {kind: rail-optimised, oversubscription: "
               "1}\nrate_scale: 0.5\n");
  for (const char* job : {"topology: clusters/lab.yaml", "topology: {name: clusters/lab.yaml}"}) {
    const Topology topology = load(job, folder.path());
    EXPECT_EQ(topology.name, "lab");
    EXPECT_EQ(topology.gpus.size(), 3U);
    EXPECT_EQ(topology.nics[2].rate, 1'000'000'000);
    EXPECT_EQ(topology.fabric_kind, "rail-optimised");
    EXPECT_TRUE(topology.unit_test_rates);
  }
}

TEST(TopologyLoader, AbsolutePathsNeedNoFolder) {
  TemporaryFolder folder;
  const std::string path = folder.write("lab.yaml", "nodes: [{gpus: 5, nic: 2GB/s}]\n");
  EXPECT_EQ(load("topology: " + path, "/nonexistent").gpus.size(), 5U);
  EXPECT_EQ(load("topology: " + path).gpus.size(), 5U);
}

TEST(TopologyLoader, JoinedTopologiesAreRenumberedInOrder) {
  const Topology topology = load(
      "topology:\n"
      "  - {name: dgx-h100, nodes: 2}\n"
      "  - nodes:\n"
      "      - {count: 2, gpus: 4, gpu: gb200, nvlink: 900GB/s, nics_per_gpu: 2, nic: 25GB/s, "
      "nvlink_domain: rack}\n"
      "      - {gpus: 1, gpu: h100, nic: 10GB/s}\n"
      "  - {name: dgx-h100, nodes: 1}\n");
  EXPECT_EQ(topology.name, "dgx-h100 + inline + dgx-h100");
  ASSERT_EQ(topology.nodes.size(), 6U);
  ASSERT_EQ(topology.gpus.size(), 33U);
  ASSERT_EQ(topology.nics.size(), 16U + 16U + 1U + 8U);
  EXPECT_EQ(topology.domain_count, 5);
  EXPECT_EQ(topology.gpus[15].domain, 1);
  EXPECT_EQ(topology.gpus[16].domain, 2);
  EXPECT_EQ(topology.gpus[23].domain, 2);
  EXPECT_EQ(topology.gpus[24].domain, 3);
  EXPECT_EQ(topology.gpus[25].domain, 4);
  EXPECT_EQ(topology.gpus[17].node, 2);
  EXPECT_EQ(topology.gpus[17].nics, (std::vector<std::int32_t>{18, 19}));
  EXPECT_EQ(topology.nics[19].node, 2);
  EXPECT_EQ(topology.nics[19].rail, 3);
  EXPECT_EQ(topology.nics[19].name, "node2.nic3");
  EXPECT_EQ(topology.nodes[5].first_gpu, 25);
  EXPECT_EQ(topology.nodes[5].name, "node5");
  EXPECT_EQ(topology.nics[40].node, 5);
  ASSERT_EQ(topology.gpu_models.size(), 2U);
  EXPECT_EQ(topology.gpus[16].model, 1);
  EXPECT_EQ(topology.gpus[24].model, 0);
  EXPECT_EQ(topology.gpus[32].model, 0);
  EXPECT_EQ(topology.fabric_kind, "joined");
  EXPECT_TRUE(topology.unit_test_rates);
}

TEST(TopologyLoader, EqualDomainNamesInTwoPartsStayApart) {
  const std::string part =
      "{nodes: [{count: 2, gpus: 1, nic: 9GB/s, nvlink: 9GB/s, nvlink_domain: a}]}";
  const Topology topology = load("topology: [" + part + ", " + part + "]");
  EXPECT_EQ(domains_of(topology), (std::vector<std::int32_t>{0, 0, 1, 1}));
}

TEST(TopologyLoader, AListOfOneIsThatOne) {
  const Topology topology = load("topology: [{name: dgx-h100, nodes: 2}]");
  EXPECT_EQ(topology.name, "dgx-h100");
  EXPECT_EQ(topology.gpus.size(), 16U);
  EXPECT_EQ(topology.nics[15].name, "node1.nic7");
}

TEST(TopologyRates, AchievedRateRoundsDownAndDoesNotOverflow) {
  LinkCosts costs;
  costs.efficiency_ppm = 333'333;
  EXPECT_EQ(achieved_rate(10, costs), 3);
  EXPECT_EQ(achieved_rate(1'000'000'000'000'000'000, costs), 333'333'000'000'000'000);
  EXPECT_EQ(achieved_rate(0, costs), 0);
}

}  // namespace
}  // namespace transload
