// What each system of the library consists of, against its sources: counts by hand, and that
// its generator takes every parameter.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "tests/topologies/loading.h"
#include "topologies/library.h"

namespace transload {
namespace {

constexpr std::int64_t kGb = 1'000'000'000;

struct Expected {
  const char* name;
  const char* size_key;  // "nodes" or "racks"
  std::int64_t size;
  std::size_t nodes;
  std::int32_t gpus_per_node;
  std::int32_t domains;
  std::size_t nics_per_gpu;
  std::size_t rails;
  std::int64_t leaves;    // switches of tier 1
  std::int64_t networks;  // switches without a parent: spine layers, one a plane
  const char* gpu;
  std::int64_t nvlink;  // GB/s, one direction
  double gpu_network;   // GB/s of all NICs of a GPU
  std::vector<std::int64_t> published;
};

std::ostream& operator<<(std::ostream& stream, const Expected& row) { return stream << row.name; }

// DGX SuperPOD scalable units: 32 nodes of H100 and B200, 64 of B300 with two planes, 72 of B300 on
// XDR, 8 racks of 18 trays of GB200; NIC r of every node of a unit is on one leaf, so a unit has as
// many leaves as a node has NICs. Published counts: tables of the reference architectures; those of
// larger B200 systems have a core from 512 nodes on.
const Expected kExpected[] = {
    {"dgx-h100", "nodes", 64, 64, 8, 64, 1, 8, 16, 1, "h100", 450, 50, {}},
    {"superpod-h100", "nodes", 31, 31, 8, 31, 1, 8, 8, 1, "h100", 450, 50, {8, 4}},
    {"superpod-h100", "nodes", 95, 95, 8, 95, 1, 8, 24, 1, "h100", 450, 50, {24, 16}},
    {"superpod-h100", "nodes", 127, 127, 8, 127, 1, 8, 32, 1, "h100", 450, 50, {32, 16}},
    {"superpod-h100", "nodes", 160, 160, 8, 160, 1, 8, 40, 1, "h100", 450, 50, {}},
    {"hgx-h100", "nodes", 33, 33, 8, 33, 1, 8, 16, 1, "h100", 450, 50, {}},
    {"hgx-h200", "nodes", 32, 32, 8, 32, 1, 8, 8, 1, "h200", 450, 50, {}},
    {"dgx-b200", "nodes", 32, 32, 8, 32, 1, 8, 8, 1, "b200", 900, 50, {}},
    {"superpod-b200", "nodes", 63, 63, 8, 63, 1, 8, 16, 1, "b200", 900, 50, {16, 8}},
    {"superpod-b200", "nodes", 512, 512, 8, 512, 1, 8, 128, 1, "b200", 900, 50, {128, 128, 64}},
    {"dgx-b300", "nodes", 64, 64, 8, 64, 2, 16, 16, 2, "b300", 900, 100, {}},
    {"superpod-b300", "nodes", 128, 128, 8, 128, 2, 16, 32, 2, "b300", 900, 100, {32, 16}},
    {"superpod-b300-xdr", "nodes", 288, 288, 8, 288, 1, 8, 32, 1, "b300", 900, 100, {32, 18}},
    {"gb200-nvl72", "racks", 9, 162, 4, 9, 1, 4, 8, 1, "gb200", 900, 50, {}},
    {"superpod-gb200", "racks", 8, 144, 4, 8, 1, 4, 4, 1, "gb200", 900, 50, {32, 24}},
    {"gb300-nvl72", "racks", 2, 36, 4, 2, 1, 4, 4, 1, "gb300", 900, 100, {}},
    {"hgx-h800", "nodes", 2, 2, 8, 2, 1, 8, 8, 1, "h800", 200, 50, {}},
    {"hgx-h20", "nodes", 2, 2, 8, 2, 1, 8, 8, 1, "h20", 450, 50, {}},
    {"dgx-a100", "nodes", 21, 21, 8, 21, 1, 8, 16, 1, "a100", 300, 25, {}},
    // EFA: 32 cards of 100 Gb/s, 16 of 200 Gb/s, 8 of 400 Gb/s, always 3.2 Tb/s a node.
    {"aws-p5", "nodes", 17, 17, 8, 17, 4, 32, 2, 1, "h100", 450, 50, {}},
    {"aws-p5e", "nodes", 16, 16, 8, 16, 4, 32, 1, 1, "h200", 450, 50, {}},
    {"aws-p5en", "nodes", 16, 16, 8, 16, 2, 16, 1, 1, "h200", 450, 50, {}},
    {"aws-p6-b200", "nodes", 16, 16, 8, 16, 1, 8, 1, 1, "b200", 900, 50, {}},
    {"gcp-a3-mega", "nodes", 2, 2, 8, 2, 1, 8, 8, 1, "h100", 450, 25, {}},
    {"gcp-a3-ultra", "nodes", 2, 2, 8, 2, 1, 8, 8, 1, "h200", 450, 50, {}},
    {"gcp-a4", "nodes", 2, 2, 8, 2, 1, 8, 8, 1, "b200", 900, 50, {}},
    {"gcp-a4x", "racks", 2, 36, 4, 2, 1, 4, 8, 1, "gb200", 900, 50, {}},
    {"azure-nd-h100-v5", "nodes", 2, 2, 8, 2, 1, 8, 8, 1, "h100", 450, 50, {}},
    {"azure-nd-gb200-v6", "racks", 2, 36, 4, 2, 1, 4, 8, 1, "gb200", 900, 50, {}},
    {"oci-h100", "nodes", 2, 2, 8, 2, 2, 16, 1, 1, "h100", 450, 50, {}},
};

class LibraryEntry : public testing::TestWithParam<Expected> {};

TEST_P(LibraryEntry, HasTheCountsOfItsSources) {
  const Expected& row = GetParam();
  const Topology topology =
      load(fmt::format("topology: {{name: {}, {}: {}}}", row.name, row.size_key, row.size));
  EXPECT_EQ(topology.nodes.size(), row.nodes);
  const std::size_t gpus = row.nodes * static_cast<std::size_t>(row.gpus_per_node);
  EXPECT_EQ(topology.gpus.size(), gpus);
  EXPECT_EQ(topology.domain_count, row.domains);
  EXPECT_EQ(topology.nics.size(), gpus * row.nics_per_gpu);
  std::set<std::int32_t> rails;
  for (const Nic& nic : topology.nics) rails.insert(nic.rail);
  EXPECT_EQ(rails.size(), row.rails);
  const auto count = [&](auto&& condition) {
    return std::count_if(topology.switches.begin(), topology.switches.end(), condition);
  };
  EXPECT_EQ(count([](const Switch& at) { return at.tier == 1; }), row.leaves);
  EXPECT_EQ(count([](const Switch& at) { return at.parent < 0; }), row.networks);
  for (const Switch& at : topology.switches) EXPECT_EQ(at.uplink_rate, 0) << at.name;
  EXPECT_EQ(topology.published_switches.tiers, row.published);
  for (const Node& node : topology.nodes) EXPECT_EQ(node.gpu_count, row.gpus_per_node);
  for (const Gpu& gpu : topology.gpus) {
    EXPECT_EQ(topology.gpu_models[static_cast<std::size_t>(gpu.model)].name, row.gpu);
    EXPECT_EQ(gpu.nvlink_rate, row.nvlink * kGb);
    std::int64_t rate = 0;
    for (std::int32_t nic : gpu.nics) {
      rate += topology.nics[static_cast<std::size_t>(nic)].rate;
      EXPECT_EQ(topology.nics[static_cast<std::size_t>(nic)].node, gpu.node);
    }
    EXPECT_EQ(static_cast<double>(rate), row.gpu_network * 1e9);
    EXPECT_EQ(gpu.nics.size(), row.nics_per_gpu);
  }
}

INSTANTIATE_TEST_SUITE_P(Library, LibraryEntry, testing::ValuesIn(kExpected),
                         [](const auto& tested) {
                           std::string name =
                               fmt::format("{}_{}", tested.param.name, tested.param.size);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(LibraryEntries, AllAreInTheTable) {
  std::set<std::string> tested;
  for (const Expected& row : kExpected) tested.insert(row.name);
  EXPECT_THAT(topology_library(), testing::UnorderedElementsAreArray(tested));
}

// The parameters of an entry that have no default.
std::vector<std::string> required_parameters(const std::string& entry) {
  std::vector<std::string> required;
  const YamlValue file = YamlValue::from_file(topology_library_folder() + "/" + entry + ".yaml");
  for (const auto& [name, parameter] : file.map().required("parameters").map().entries())
    if (!parameter.map().has("default")) required.push_back(name);
  return required;
}

TEST(LibraryEntries, TakeASizeCardsAndOversubscription) {
  for (const std::string& name : topology_library()) {
    SCOPED_TRACE(name);
    const auto required = required_parameters(name);
    ASSERT_EQ(required.size(), 1U);
    EXPECT_THAT(required[0], testing::AnyOf("nodes", "racks"));
    const Topology topology = load(fmt::format(
        "topology: {{name: {}, {}: 1, nics_per_gpu: 2, nic: 10GB/s, oversubscription: 4}}", name,
        required[0]));
    EXPECT_EQ(topology.nics.size(), 2 * topology.gpus.size());
    EXPECT_EQ(topology.nics[0].rate, 10 * kGb);
    for (const Switch& at : topology.switches) {
      std::int64_t below = 0;
      for (const Nic& nic : topology.nics)
        if (&topology.switches[static_cast<std::size_t>(nic.leaf)] == &at) below += nic.rate;
      EXPECT_EQ(at.uplink_rate, at.parent < 0 ? 0 : below / 4) << at.name;
    }
    EXPECT_TRUE(topology.published_switches.tiers.empty());
  }
}

TEST(LibraryEntries, EveryConstantNamesItsSource) {
  for (const std::string& name : topology_library()) {
    SCOPED_TRACE(name);
    const Topology topology =
        load(fmt::format("topology: {{name: {}, {}: 1}}", name, required_parameters(name)[0]));
    const std::string gpu = "gpus." + topology.gpu_models.at(0).name;
    std::vector<std::string> names;
    for (const SourcedConstant& constant : topology.constants) {
      names.push_back(constant.name);
      EXPECT_FALSE(constant.value.empty()) << constant.name;
      EXPECT_GT(constant.source.size(), 10U) << constant.name;
      EXPECT_NE(constant.source, "stated by the user") << constant.name;
      // Marked in front, or not at all: readers look at the beginning.
      const std::size_t mark = constant.source.find("unverified");
      EXPECT_TRUE(mark == 0 || mark == std::string::npos) << constant.source;
    }
    EXPECT_THAT(
        names, testing::IsSupersetOf(
                   {std::string("nodes[0].gpus"), std::string("nodes[0].nvlink"),
                    std::string("nodes[0].nic"), std::string("nodes[0].nics_per_gpu"), gpu + ".hbm",
                    gpu + ".memory", gpu + ".copy_rates", std::string("fabric.kind"),
                    std::string("fabric.unit"), std::string("fabric.oversubscription"),
                    std::string("efficiency.nic"), std::string("efficiency.nvlink"),
                    std::string("efficiency.copy"), std::string("latency.nic.latency"),
                    std::string("latency.copy.occupancy")}));
    EXPECT_GT(topology.nics[0].source.size(), 10U);
  }
}

// Measured or suggested shares of the line rates, from the facts on achieved rates: NDR 0.95, EFA
// 0.88, ConnectX-8 0.93; NVLink 4 0.82, NVLink 5 0.85, H800 160 of 200 GB/s.
TEST(LibraryEntries, HaveTheEfficienciesOfTheirLinks) {
  struct Row {
    const char* job;
    std::int64_t nic_ppm;
    std::int64_t nvlink_ppm;
    std::int64_t nic_latency_us;
  };
  for (const Row& row : {Row{"name: dgx-h100, nodes: 1", 950'000, 820'000, 15},
                         Row{"name: dgx-b200, nodes: 1", 950'000, 850'000, 15},
                         Row{"name: dgx-b300, nodes: 1", 930'000, 850'000, 15},
                         Row{"name: gb200-nvl72, racks: 1", 950'000, 850'000, 15},
                         Row{"name: gb300-nvl72, racks: 1", 930'000, 850'000, 15},
                         Row{"name: hgx-h800, nodes: 1", 950'000, 800'000, 15},
                         Row{"name: aws-p5, nodes: 1", 880'000, 820'000, 30},
                         Row{"name: aws-p6-b200, nodes: 1", 880'000, 850'000, 30}}) {
    const Topology topology = load(fmt::format("topology: {{{}}}", row.job));
    EXPECT_EQ(first_nic_costs(topology).efficiency_ppm, row.nic_ppm) << row.job;
    EXPECT_EQ(first_nvlink_costs(topology).efficiency_ppm, row.nvlink_ppm) << row.job;
    EXPECT_EQ(first_nic_costs(topology).latency_ps, row.nic_latency_us * 1'000'000) << row.job;
  }
}

// A system file elsewhere gave 100 GB/s a GPU across racks for a tray with four 400 Gb/s cards.
TEST(LibraryEntries, RC146_FourCardsOf400GigabitForFourGpusAre50GigabytesEach) {
  const Topology topology = load("topology: {name: gb200-nvl72, racks: 2}");
  std::int64_t tray = 0;
  for (const Nic& nic : topology.nics)
    if (nic.node == 0) tray += nic.rate;
  EXPECT_EQ(tray, 4 * 400 * kGb / 8);
  EXPECT_EQ(tray / topology.nodes[0].gpu_count, 50 * kGb);
}

// 32 EFA cards for eight GPUs are four devices for each GPU, not one grouped device.
TEST(LibraryEntries, RC134_AwsP5HasFourNicsOf100GigabitForEachGpu) {
  const Topology topology = load("topology: {name: aws-p5, nodes: 1}");
  for (std::int32_t gpu = 0; gpu < 8; ++gpu)
    EXPECT_THAT(topology.gpus[static_cast<std::size_t>(gpu)].nics,
                testing::ElementsAre(4 * gpu, 4 * gpu + 1, 4 * gpu + 2, 4 * gpu + 3));
  EXPECT_EQ(topology.nics[31].rate, 12'500'000'000);
}

TEST(GpuCatalogue, KnowsTheOtherRatesOfAGpuWhereASourceStatesThem) {
  const auto model = [](const char* gpu) {
    return load(fmt::format("topology: {{nodes: [{{gpus: 1, gpu: {}, nic: 1GB/s}}]}}", gpu))
        .gpu_models.at(0);
  };
  const GpuModel h100 = model("h100");
  EXPECT_EQ(h100.copy_engine_ppm, 760'000);
  EXPECT_EQ(h100.quantise_ppm, 830'000);
  EXPECT_EQ(h100.host_link_rate, 63 * kGb);
  EXPECT_EQ(h100.host_link_ppm, 820'000);
  const GpuModel gb200 = model("gb200");
  EXPECT_EQ(gb200.copy_engine_ppm, 0);
  EXPECT_EQ(gb200.host_link_rate, 450 * kGb);
  EXPECT_EQ(achieved_rate(gb200.host_link_rate, gb200.host_link_ppm), 198 * kGb);
  EXPECT_EQ(model("b300").host_link_rate, 0);
}

}  // namespace
}  // namespace transload
