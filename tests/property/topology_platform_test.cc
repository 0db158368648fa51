// The platform that the simulator makes of a topology: every way between two GPUs has the rate that
// topologies/paths.h states, one transfer at a time; oversubscription costs what it says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "planner/strategy/strategy.h"
#include "simulator/simulate.h"
#include "tests/property/traffic.h"
#include "topologies/library.h"
#include "topologies/paths.h"

namespace transload {
namespace {

// One way after the other over every pair of `gpus`, each alone: how long it takes is its bytes
// over the stated rate, to 0.1 %. Returns how many ways there were.
std::size_t expect_stated_rates(const Topology& topology, const std::vector<Rank>& gpus) {
  struct Way {
    Rank from;
    Rank to;
    GpuPath path;
    OpId first;
    OpId last;
  };
  Traffic traffic(topology);
  std::vector<Way> ways;
  for (Rank from : gpus)
    for (Rank to : gpus) {
      if (from == to) continue;
      for (const GpuPath& path : gpu_paths(topology, from, to)) {
        const auto hops = traffic.send(from, to, path, kBytes);
        if (!ways.empty())
          for (OpId hop : hops) traffic.after(hop, ways.back().last);
        ways.push_back({from, to, path, hops.front(), hops.back()});
      }
    }
  const OpTimes times = traffic.simulated().times;
  for (const Way& way : ways) {
    const double seconds = times.finish_s[way.last] - times.start_s[way.first];
    const double stated = static_cast<double>(kBytes) / static_cast<double>(way.path.rate);
    EXPECT_NEAR(seconds / stated, 1, 1e-3)
        << path_text(topology, way.from, way.to, way.path) << " at " << way.path.rate << " B/s";
    if (testing::Test::HasFailure()) break;  // thousands of the same would follow
  }
  return ways.size();
}

// GPUs of the given nodes.
std::vector<Rank> gpus_of(const Topology& topology, const std::vector<std::size_t>& nodes) {
  std::vector<Rank> gpus;
  for (std::size_t node : nodes)
    for (std::int32_t i = 0; i < topology.nodes[node].gpu_count; ++i)
      gpus.push_back(topology.nodes[node].first_gpu + i);
  return gpus;
}

struct Entry {
  std::string name;
  bool racks = false;
  bool has_unit = false;
  std::int64_t unit = 0;  // nodes below one set of leaves
};

std::vector<Entry> entries() {
  std::vector<Entry> found;
  for (const std::string& name : topology_library()) {
    YamlMap file = YamlValue::from_file(topology_library_folder() + "/" + name + ".yaml").map();
    YamlMap parameters = file.required("parameters").map();
    Entry entry{name, parameters.has("racks"), parameters.has("unit"), 0};
    const YamlValue unit =
        entry.has_unit ? parameters.required("unit").map().required("default")
                       : file.required("fabric").map().required("unit").map().required("value");
    entry.unit = unit.integer_in(1, 1 << 20);
    found.push_back(entry);
  }
  return found;
}

// Two nodes, every pair; two racks, every pair of five trays that stand for all: two neighbours and
// the last of one rack, two of the other (trays of a rack differ in nothing).
TEST(TopologyPlatform, EveryWayOfALibraryEntryHasItsStatedRate) {
  std::size_t ways = 0;
  for (const Entry& entry : entries()) {
    SCOPED_TRACE(entry.name);
    const Topology topology =
        load(fmt::format("{{name: {}, {}: 2}}", entry.name, entry.racks ? "racks" : "nodes"));
    ways += expect_stated_rates(
        topology, entry.racks ? gpus_of(topology, {0, 1, 17, 18, 35}) : all_gpus(topology));
  }
  std::printf("%zu ways, one at a time\n", ways);
}

// Two units of leaves, oversubscribed: the first, the second and the last node of the first unit
// with the first of the second. Where the unit is a parameter it is made small.
TEST(TopologyPlatform, EveryWayBetweenTwoUnitsHasItsStatedRate) {
  std::size_t ways = 0;
  for (const Entry& entry : entries()) {
    SCOPED_TRACE(entry.name);
    const std::int64_t unit =
        entry.racks ? (entry.has_unit ? 18 : entry.unit) : (entry.has_unit ? 2 : entry.unit);
    const std::int64_t size = entry.racks ? unit / 18 + 1 : unit + 1;
    const Topology topology = load(fmt::format(
        "{{name: {}, {}: {}, oversubscription: 8{}}}", entry.name, entry.racks ? "racks" : "nodes",
        size, entry.has_unit ? fmt::format(", unit: {}", unit) : ""));
    const auto last = static_cast<std::size_t>(unit);
    ways += expect_stated_rates(topology, gpus_of(topology, {0, last - 1, last}));
  }
  std::printf("%zu ways, one at a time\n", ways);
}

// Every NIC of the first unit sends to the same one of the second: all bytes cross the leaves.
double all_cross_leaf_seconds(const Entry& entry, int oversubscription) {
  const std::int64_t unit =
      entry.racks ? (entry.has_unit ? 18 : entry.unit) : (entry.has_unit ? 2 : entry.unit);
  const Topology topology =
      load(fmt::format("{{name: {}, {}: {}, oversubscription: {}, latency: 0{}}}", entry.name,
                       entry.racks ? "racks" : "nodes", entry.racks ? 2 * unit / 18 : 2 * unit,
                       oversubscription, entry.has_unit ? fmt::format(", unit: {}", unit) : ""));
  Traffic traffic(topology);
  const std::size_t half = topology.gpus.size() / 2;
  for (std::size_t gpu = 0; gpu < half; ++gpu)
    for (std::size_t nic = 0; nic < topology.gpus[gpu].nics.size(); ++nic)
      traffic.network(static_cast<std::int32_t>(gpu), topology.gpus[gpu].nics[nic],
                      static_cast<std::int32_t>(gpu + half), topology.gpus[gpu + half].nics[nic],
                      kBytes);
  return traffic.simulated().refit_s;
}

TEST(TopologyPlatform, OversubscriptionTwoAndFourTakeExactlyTwiceAndFourTimesAsLong) {
  for (const Entry& entry : entries()) {
    SCOPED_TRACE(entry.name);
    const double whole = all_cross_leaf_seconds(entry, 1);
    EXPECT_NEAR(all_cross_leaf_seconds(entry, 2) / whole, 2, 1e-6);
    EXPECT_NEAR(all_cross_leaf_seconds(entry, 4) / whole, 4, 1e-6);
  }
}

// The same through a strategy: 32 ranks below four leaves' worth of nodes to 32 below others.
TEST(TopologyPlatform, OversubscriptionHoldsForPlannedJobs) {
  const auto refit_s = [](int oversubscription) {
    const Job job = job_from_text(
        fmt::format(
            "topology: {{name: dgx-h100, nodes: 8, unit: 4, oversubscription: {}, latency: "
            "0}}\n"
            "tensors:\n"
            "  - {{name: w, shape: [32768, 1048576], dtype: bf16, source: {{mesh: {{x: 32}},"
            " placements: [S(0)], ranks: 0-31}}, destination: {{mesh: {{x: 32}}, placements:"
            " [S(0)], ranks: 32-63}}}}\n",
            oversubscription),
        "job.yaml", "");
    SimulateOptions exact;
    exact.exact = true;
    return simulate(make_plan(job, prepare(job), job.strategy, Discipline::kWindows), exact)
        .refit_s;
  };
  const double whole = refit_s(1);
  EXPECT_NEAR(refit_s(2) / whole, 2, 1e-4);
  EXPECT_NEAR(refit_s(4) / whole, 4, 1e-4);
}

// Eight GPUs send a gigabyte each to eight of another node: every NIC carries one, at 50 GB/s in 20
// ms; with four of the eight NICs it would be 40.
TEST(TopologyPlatform, RC117_EveryNicOfANodeCarriesItsShare) {
  const Job job = job_from_text(
      "topology: {name: dgx-h100, nodes: 2, efficiency: 1, latency: 0}\n"
      "tensors:\n"
      "  - {name: w, shape: [8, 1000000000], dtype: uint8, source: {mesh: {x: 8}, placements: "
      "[S(0)],"
      " ranks: 0-7}, destination: {mesh: {x: 8}, placements: [S(0)], ranks: 8-15}}\n",
      "job.yaml", "");
  SimulateOptions exact;
  exact.exact = true;
  const SimulationResult result =
      simulate(make_plan(job, prepare(job), job.strategy, Discipline::kWindows), exact);
  EXPECT_NEAR(result.refit_s, 0.02, 1e-5);
  int senders = 0;
  for (const LinkUse& link : result.links) {
    if (link.kind != name_of(LinkKind::kNicOut) || link.bytes == 0) continue;
    EXPECT_EQ(link.bytes, 1'000'000'000U) << link.name;
    ++senders;
  }
  EXPECT_EQ(senders, 8);
}

// Seconds of one transfer over the first way.
double seconds(const Topology& topology, std::int32_t from, std::int32_t to, std::uint64_t bytes) {
  Traffic traffic(topology);
  traffic.send(from, to, gpu_paths(topology, from, to).at(0), bytes);
  return traffic.simulated().refit_s;
}

TEST(TopologyPlatform, SameRailAndCrossRailDiffer) {
  const Topology wide = load("{name: dgx-h100, nodes: 2}");
  // A byte: launch and latency. Across rails two more switches of 0.6 us each.
  EXPECT_NEAR(seconds(wide, 0, 13, 1) - seconds(wide, 0, 8, 1), 1.2e-6, 1e-9);
  EXPECT_NEAR(seconds(wide, 0, 13, kBytes) / seconds(wide, 0, 8, kBytes), 1, 1e-3);
  // Two NICs at a leaf and an eighth of that upwards: a quarter of one NIC.
  const Topology narrow = load("{name: dgx-h100, nodes: 2, oversubscription: 8}");
  EXPECT_NEAR(seconds(narrow, 0, 13, kBytes) / seconds(narrow, 0, 8, kBytes), 4, 1e-2);
}

TEST(TopologyPlatform, RailOnlyWaysHaveTheirStatedRate) {
  const Topology topology = load(
      "{nodes: [{count: 2, gpus: 4, nvlink: 100GB/s, nic: 50GB/s}], fabric: {kind: rail-only}}");
  EXPECT_EQ(expect_stated_rates(topology, all_gpus(topology)),
            // Inside a node: NVLink, and no network on another rail. Across: 8 pairs on one rail,
            // 24 with two ways each, NVLink first or last.
            2 * 12 + 8 + 24 * 2);
}

TEST(TopologyPlatform, IslandsAndPcieAndSitesHaveTheirStatedRate) {
  for (const char* request :
       {"{nodes: [{count: 2, gpus: 4, nvlink: 450GB/s, nvlink_islands: [[0, 1], [2, 3]], nic: "
        "50GB/s}]}",
        "{nodes: [{count: 2, gpus: 2, nics: [{name: n, rate: 50GB/s, gpus: [0, 1]}], pcie: [{gpus: "
        "[0], nics: [n], uplink: 20GB/s}, {gpus: [1], uplink: 16GB/s}]}]}",
        "{nodes: [{gpus: 2, nic: 50GB/s, site: a}, {gpus: 2, nic: 25GB/s, site: b}], links: "
        "[{between: [a, b], rate: 5GB/s, latency: 1ms}]}"}) {
    SCOPED_TRACE(request);
    const Topology topology = load(request);
    EXPECT_GE(expect_stated_rates(topology, all_gpus(topology)), 12U);
  }
}

TEST(TopologyPlatform, RC141_ADomainInPoorHealthTakesTwiceAsLong) {
  const char* nodes =
      "{{nodes: [{{count: 12, gpus: 4, nvlink: 900GB/s, nvlink_domain: rack, nic: 50GB/s{}}}]}}";
  const Topology whole = load(fmt::format(fmt::runtime(nodes), ""));
  const Topology half = load(fmt::format(fmt::runtime(nodes), ", nvlink_health: 0.5"));
  EXPECT_NEAR(seconds(half, 0, 47, kBytes) / seconds(whole, 0, 47, kBytes), 2, 1e-3);
}

// All 144 GPUs of two racks, where the quick test takes five trays.
TEST(FullTopologyPlatform, EveryWayOfTwoRacksHasItsStatedRate) {
  const Topology topology = load("{name: gb200-nvl72, racks: 2}");
  std::printf("%zu ways, one at a time\n", expect_stated_rates(topology, all_gpus(topology)));
}

// In the job's own words: no guess about a pair that nothing joins.
TEST(TopologyPlatform, RC124_APairWithNoCommonRailIsReported) {
  const Job job = job_from_text(
      "topology:\n"
      "  nodes:\n"
      "    - {gpus: 1, nvlink: 450GB/s, nics: [{rate: 50GB/s, rail: 0, gpus: [0]}]}\n"
      "    - {gpus: 1, nvlink: 450GB/s, nics: [{rate: 50GB/s, rail: 1, gpus: [0]}]}\n"
      "  fabric: {kind: rail-only}\n"
      "tensors:\n"
      "  - {name: w, shape: [8], dtype: fp32, source: {mesh: {x: 1}, placements: [R], ranks: 0},"
      " destination: {mesh: {y: 1}, placements: [R], ranks: 1}}\n",
      "job.yaml", "");
  for (const StrategyInfo& info : strategies()) {
    StrategyChoice strategy;
    strategy.name = info.name;
    try {
      make_plan(job, prepare(job), strategy, Discipline::kWindows);
      ADD_FAILURE() << info.name;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("ranks 0 and 1")) << info.name;
    }
  }
}

}  // namespace
}  // namespace transload
