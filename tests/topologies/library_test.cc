// The library: dgx-h100 as it ships, its overrides, the catalogues, and that an entry is only a
// file. tests/topologies/library_entries_test.cc has the counts of all entries.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "tests/topologies/loading.h"

namespace transload {
namespace {

constexpr const char* kLibrary = TRANSLOAD_SOURCE_DIR "/topologies/";

TEST(TopologyLibrary, DgxH100HasEightGpusEightNicsAndOneDomainPerNode) {
  const Topology topology = load("topology: {name: dgx-h100, nodes: 64}");
  EXPECT_EQ(topology.name, "dgx-h100");
  ASSERT_EQ(topology.nodes.size(), 64U);
  ASSERT_EQ(topology.gpus.size(), 512U);
  ASSERT_EQ(topology.nics.size(), 512U);
  EXPECT_EQ(topology.domain_count, 64);
  EXPECT_EQ(topology.fabric_kind, "rail-optimised");
  EXPECT_FALSE(topology.unit_test_rates);
  for (std::int32_t device = 0; device < 512; ++device) {
    const Gpu& gpu = topology.gpus[static_cast<std::size_t>(device)];
    EXPECT_EQ(gpu.node, device / 8);
    EXPECT_EQ(gpu.index, device % 8);
    EXPECT_EQ(gpu.domain, device / 8);
    EXPECT_EQ(gpu.nvlink_rate, 450'000'000'000);
    ASSERT_EQ(gpu.nics, std::vector<std::int32_t>{device});
    const Nic& nic = topology.nics[static_cast<std::size_t>(device)];
    EXPECT_EQ(nic.node, device / 8);
    EXPECT_EQ(nic.rail, device % 8);
    EXPECT_EQ(nic.rate, 50'000'000'000);
  }
  EXPECT_EQ(topology.nodes[63].first_gpu, 504);
  EXPECT_EQ(topology.nodes[63].gpu_count, 8);
  EXPECT_EQ(topology.nodes[63].name, "node63");
  EXPECT_EQ(topology.nics[511].name, "node63.nic7");
}

TEST(TopologyLibrary, DgxH100ReachesTheMeasuredRates) {
  const Topology topology = load("topology: {name: dgx-h100, nodes: 1}");
  EXPECT_EQ(achieved_rate(topology.nics[0].rate, first_nic_costs(topology)), 47'500'000'000);
  EXPECT_EQ(achieved_rate(topology.gpus[0].nvlink_rate, first_nvlink_costs(topology)),
            369'000'000'000);
  ASSERT_EQ(topology.gpu_models.size(), 1U);
  const GpuModel& model = topology.gpu_models[0];
  EXPECT_EQ(model.name, "h100");
  EXPECT_EQ(model.memory_bytes, 80'000'000'000);
  EXPECT_EQ(achieved_rate(model.hbm_rate, first_copy_costs(topology)), 2'882'720'000'000);
  EXPECT_EQ(first_nic_costs(topology).latency_ps, 15'000'000);
  EXPECT_EQ(first_nic_costs(topology).occupancy_ps, 8'000'000);
  EXPECT_EQ(first_nvlink_costs(topology).latency_ps, 4'000'000);
  EXPECT_EQ(first_nvlink_costs(topology).occupancy_ps, 8'000'000);
  EXPECT_EQ(first_copy_costs(topology).latency_ps, 0);
  EXPECT_EQ(first_copy_costs(topology).occupancy_ps, 5'000'000);
}

TEST(TopologyLibrary, ParametersReplaceTheEntrysOwnFigures) {
  const Topology topology =
      load("topology: {name: dgx-h100, nodes: 2, nics_per_gpu: 2, nic: 200Gb/s}");
  ASSERT_EQ(topology.nics.size(), 32U);
  EXPECT_EQ(topology.gpus[9].nics, (std::vector<std::int32_t>{18, 19}));
  EXPECT_EQ(topology.nics[19].node, 1);
  EXPECT_EQ(topology.nics[19].rail, 3);
  EXPECT_EQ(topology.nics[19].rate, 25'000'000'000);
  EXPECT_EQ(topology.nics[19].source, "stated by the user");
}

TEST(TopologyLibrary, OverridesChangeOnlyWhatTheyName) {
  const Topology topology = load(
      "topology: {name: dgx-h100, nodes: 1, efficiency: {nic: 0.5}, latency: {nvlink: {latency: "
      "1us}}}");
  EXPECT_EQ(first_nic_costs(topology).efficiency_ppm, 500'000);
  EXPECT_EQ(first_nic_costs(topology).efficiency_source, "stated by the user");
  EXPECT_EQ(first_nvlink_costs(topology).efficiency_ppm, 820'000);
  EXPECT_EQ(first_nvlink_costs(topology).latency_ps, 1'000'000);
  EXPECT_EQ(first_nvlink_costs(topology).occupancy_ps, 8'000'000);
  EXPECT_EQ(first_nic_costs(topology).latency_ps, 15'000'000);
}

TEST(TopologyLibrary, RateScaleMultipliesEveryLineRate) {
  const Topology topology = load("topology: {name: dgx-h100, nodes: 1, rate_scale: 0.001}");
  EXPECT_EQ(topology.nics[0].rate, 50'000'000);
  EXPECT_EQ(topology.gpus[0].nvlink_rate, 450'000'000);
  EXPECT_EQ(topology.gpu_models[0].hbm_rate, 3'352'000'000);
  EXPECT_EQ(topology.gpu_models[0].memory_bytes, 80'000'000'000);
}

TEST(TopologyLibrary, ListsEntriesAndNotTheCatalogues) {
  EXPECT_THAT(topology_library(), testing::Contains("dgx-h100"));
  EXPECT_THAT(topology_library(), testing::Not(testing::Contains("gpus")));
  EXPECT_THAT(topology_library(), testing::Not(testing::Contains("defaults")));
  EXPECT_THAT(topology_library(), testing::WhenSorted(topology_library()));
}

TEST(TopologyLibrary, CatalogueKnowsNineModelsWithRisingCopyRates) {
  const std::vector<std::pair<std::string, std::int64_t>> peaks = {
      {"a100", 2'039'000'000'000}, {"h100", 3'352'000'000'000},  {"h200", 4'800'000'000'000},
      {"h800", 3'352'000'000'000}, {"h20", 4'000'000'000'000},   {"b200", 7'672'000'000'000},
      {"b300", 8'000'000'000'000}, {"gb200", 8'000'000'000'000}, {"gb300", 8'000'000'000'000}};
  for (const auto& [name, peak] : peaks) {
    const Topology topology =
        load(fmt::format("topology: {{nodes: [{{gpus: 1, gpu: {}, nic: 1GB/s}}]}}", name));
    const GpuModel& model = topology.gpu_models.at(0);
    EXPECT_EQ(model.hbm_rate, peak) << name;
    EXPECT_FALSE(model.source.empty()) << name;
    ASSERT_EQ(model.copy_rates.size(), 12U) << name;
    for (std::size_t i = 0; i < 12; ++i) {
      // A run of b bytes that starts anywhere costs (b + 31) / 32 sectors of 32 bytes.
      const std::int64_t run = std::int64_t{2} << i;
      EXPECT_EQ(model.copy_rates[i].run_bytes, run);
      EXPECT_NEAR(static_cast<double>(model.copy_rates[i].efficiency_ppm),
                  1e6 * static_cast<double>(run) / static_cast<double>(run + 31), 1);
    }
  }
}

// A whole library in a temporary folder: the real catalogues and a system that no code has heard
// of.
class MadeUpLibrary : public testing::Test {
 protected:
  MadeUpLibrary() : home_(folder_.path()) {
    for (const char* file : {"gpus.yaml", "defaults.yaml"}) {
      folder_.write(std::string("topologies/") + file, "");
      std::filesystem::copy_file(kLibrary + std::string(file),
                                 folder_.path() + "/topologies/" + file,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    entry_ = folder_.write("topologies/rack-of-three.yaml",
                           "parameters:\n"
                           "  racks: {about: racks of three trays}\n"
                           "  nic: {default: 100GB/s, source: invented}\n"
                           "efficiency: {nvlink: {value: 0.85, source: invented}}\n"
                           "rate_scale: 2\n"
                           "nodes:\n"
                           "  - {blocks: $racks, count: 3, gpus: 2, gpu: gb200, nvlink: 900GB/s,\n"
                           "     nic: $nic, nvlink_domain: rack}\n");
  }
  TemporaryFolder folder_;
  HomeAt home_;
  std::string entry_;
};

TEST_F(MadeUpLibrary, AnEntryIsOnlyAFile) {
  EXPECT_EQ(topology_library_folder(), folder_.path() + "/topologies");
  EXPECT_EQ(topology_library(), std::vector<std::string>{"rack-of-three"});
  const Topology topology = load("topology: {name: rack-of-three, racks: 2, rate_scale: 1}");
  ASSERT_EQ(topology.gpus.size(), 12U);
  EXPECT_EQ(topology.nodes.size(), 6U);
  EXPECT_EQ(topology.domain_count, 2);
  EXPECT_EQ(topology.gpus[5].domain, 0);
  EXPECT_EQ(topology.gpus[6].domain, 1);
  EXPECT_EQ(first_nvlink_costs(topology).efficiency_ppm, 850'000);
  EXPECT_EQ(first_nvlink_costs(topology).efficiency_source, "invented");
  EXPECT_EQ(first_nic_costs(topology).efficiency_ppm, 950'000);
  EXPECT_EQ(topology.nics[0].rate, 100'000'000'000);
  EXPECT_EQ(topology.nics[0].source, "invented");
}

TEST_F(MadeUpLibrary, AnEntrysOwnFileTakesParametersToo) {
  TemporaryFolder elsewhere;
  std::filesystem::copy_file(entry_, elsewhere.path() + "/mine.yaml");
  const Topology topology = load("topology: {name: mine.yaml, racks: 1}", elsewhere.path());
  EXPECT_EQ(topology.name, "mine");
  EXPECT_EQ(topology.gpus.size(), 6U);
  EXPECT_EQ(topology.nics[0].rate, 200'000'000'000);
  EXPECT_FALSE(topology.unit_test_rates);
}

TEST_F(MadeUpLibrary, AParameterThatIsNullCountsAsNotStated) {
  folder_.write("topologies/open.yaml",
                "parameters:\n"
                "  kind: {default: non-blocking, source: invented}\n"
                "  unit: {default: null}\n"
                "  pod: {default: null}\n"
                "  planes: {default: null}\n"
                "  oversubscription: {default: null}\n"
                "  host_memory: {default: null}\n"
                "  nvlink: {default: null}\n"
                "nodes:\n"
                "  - {count: 4, gpus: 1, nic: 1GB/s, host_memory: $host_memory, nvlink: $nvlink}\n"
                "fabric: {kind: $kind, unit: $unit, pod: $pod, planes: $planes, oversubscription: "
                "$oversubscription}\n");
  const Topology plain = load("topology: {name: open}");
  EXPECT_EQ(plain.switches.size(), 1U);
  EXPECT_EQ(plain.nodes[0].host_memory_bytes, 0);
  EXPECT_EQ(plain.domain_count, 4);
  const Topology stated =
      load("topology: {name: open, kind: leaf-spine, unit: 2, pod: 1, host_memory: 1GB}");
  EXPECT_EQ(stated.switches.size(), 2U + 2 + 1);
  EXPECT_EQ(stated.nodes[0].host_memory_bytes, 1'000'000'000);
}

TEST_F(MadeUpLibrary, AGpuWithAShareAboveOneIsRefused) {
  const std::string file = folder_.write("topologies/gpus.yaml",
                                         "gpus:\n"
                                         "  x1:\n"
                                         "    hbm: 1TB/s\n"
                                         "    memory: 1GB\n"
                                         "    copy_engine: 1.5\n"
                                         "copy_rates: {source: invented, runs: []}\n");
  EXPECT_EQ(refusal("topology: {nodes: [{gpus: 1, gpu: x1, nic: 1GB/s}]}"),
            file + ":5: gpus.x1.copy_engine: expected a number above 0 and at most 1, found 1.5");
}

TEST_F(MadeUpLibrary, SaysWhichParameterIsMissing) {
  EXPECT_EQ(refusal("topology: rack-of-three"),
            "job.yaml:1: topology: rack-of-three needs the key racks (racks of three trays); write "
            "{name: rack-of-three, racks: ...}");
  EXPECT_EQ(refusal("topology: " + entry_),
            "job.yaml:1: topology: rack-of-three needs the key racks (racks of three trays); write "
            "{name: rack-of-three, racks: ...}");
}

TEST_F(MadeUpLibrary, AnUnknownParameterInAnEntryIsTheEntrysFault) {
  const std::string file =
      folder_.write("topologies/typo.yaml",
                    "parameters: {nodes: {}}\nnodes:\n  - {count: $nodez, gpus: 1, nic: 1B/s}\n");
  EXPECT_EQ(refusal("topology: {name: typo, nodes: 2}"),
            file + ":3: nodes[0].count: no parameter $nodez (did you mean $nodes?)");
}

TEST_F(MadeUpLibrary, AParameterCannotTakeTheNameOfACommonKey) {
  const std::string file =
      folder_.write("topologies/typo.yaml",
                    "parameters:\n  latency: {default: 0}\nnodes:\n  - {gpus: 1, nic: 1B/s}\n");
  EXPECT_EQ(refusal("topology: {name: typo}"),
            file +
                ":2: parameters.latency: every entry takes this key; a parameter needs another "
                "name");
}

TEST(TopologyLibrary, SaysWhenItsFolderIsMissing) {
  const HomeAt home("/nonexistent");
  EXPECT_THAT(refusal("topology: {name: dgx-h100, nodes: 1}"),
              testing::StartsWith("/nonexistent/topologies: cannot list the topology library; is "
                                  "TRANSLOAD_HOME right?"));
}

}  // namespace
}  // namespace transload
