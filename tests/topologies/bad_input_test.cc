// What the loader refuses, and the words it finds for it: whole messages, with file, line and
// field.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <ostream>

#include "tests/topologies/loading.h"

namespace transload {
namespace {

struct BadInput {
  const char* name;
  const char* job;
  const char* message;
};

std::ostream& operator<<(std::ostream& stream, const BadInput& input) {
  return stream << input.name;
}

class TopologyRefusal : public testing::TestWithParam<BadInput> {};

TEST_P(TopologyRefusal, NamesFileLineAndField) {
  EXPECT_EQ(refusal(GetParam().job), GetParam().message);
}

const BadInput kBadInputs[] = {
    {"ParameterMissing", "topology: {name: dgx-h100}",
     "job.yaml:1: topology: dgx-h100 needs the key nodes (how many nodes of eight GPUs); write "
     "{name: dgx-h100, nodes: ...}"},
    {"ParameterMisspelt", "topology:\n  name: dgx-h100\n  nodez: 4",
     "job.yaml:3: topology.nodez: unknown key (did you mean nodes?)"},
    {"ParameterOfWrongType", "topology:\n  name: dgx-h100\n  nodes: many",
     "job.yaml:3: topology.nodes: expected a whole number, found many"},
    {"ParameterZero", "topology:\n  name: dgx-h100\n  nodes: 0",
     "job.yaml:3: topology.nodes: expected a whole number from 1 to 1048576, found 0"},
    {"ParameterIsAList", "topology: {name: dgx-h100, nodes: [{gpus: 2, nic: 1B/s}]}",
     "job.yaml:1: topology.nodes: expected a whole number, found a list"},
    {"ParameterNothing", "topology: {name: dgx-h100, nodes: }",
     "job.yaml:1: topology.nodes: expected a value, found nothing"},
    {"ParameterRateZero", "topology: {name: dgx-h100, nodes: 1, nic: 0GB/s}",
     "job.yaml:1: topology.nic: expected a rate above 0, found 0GB/s"},
    {"ParameterOversubscription",
     "topology:\n  name: dgx-h100\n  nodes: 4\n  oversubscription: 0.5",
     "job.yaml:4: topology.oversubscription: expected a factor from 1 to 10000, found 0.5"},
    {"TooManyGpus", "topology: {name: dgx-h100, nodes: 131073}",
     "job.yaml:1: topology.nodes: at least 1048584 GPUs in all; expected at most 1048576"},
    {"TooManyNics", "topology: {name: dgx-h100, nodes: 131072, nics_per_gpu: 2}",
     "job.yaml:1: topology.nodes: 2097152 NICs in all; expected at most 1048576"},
    {"ProductsThatWouldOverflow",
     "topology: {nodes: [{blocks: 1048576, count: 1048576, gpus: 1048576, nic: 9GB/s}]}",
     "job.yaml:1: topology.nodes[0].count: at least 1099511627776 GPUs in all; expected at most "
     "1048576"},
    {"GroupsThatAddUp",
     "topology:\n  nodes:\n    - {gpus: 1, nic: 9GB/s}\n    - {count: 1048576, gpus: 1, nic: "
     "9GB/s}",
     "job.yaml:4: topology.nodes[1].count: at least 1048577 GPUs in all; expected at most 1048576"},
    {"NameForgotten", "topology: {nodes: 4}",
     "job.yaml:1: topology.nodes: expected a list of node groups, or the key name of a library "
     "entry beside it"},
    {"NameMisspelt", "topology: {nam: dgx-h100}",
     "job.yaml:1: topology.nam: unknown key (did you mean name?)"},
    {"NodesMissing", "topology:\n  fabric: {kind: rail-optimised}",
     "job.yaml:2: topology: the key nodes is missing"},
    {"NodesEmpty", "topology: {nodes: []}",
     "job.yaml:1: topology.nodes: expected at least one group of nodes"},
    {"NodesAMap", "topology: {nodes: {gpus: 2, nic: 1B/s}}",
     "job.yaml:1: topology.nodes: expected a list, found a map"},
    {"GroupNotAMap", "topology: {nodes: [8]}",
     "job.yaml:1: topology.nodes[0]: expected a map, found a scalar"},
    {"GroupKeyMisspelt", "topology:\n  nodes:\n    - {gpus: 2,\n       nicc: 1B/s}",
     "job.yaml:4: topology.nodes[0].nicc: unknown key (did you mean nic?)"},
    {"NicMissing", "topology:\n  nodes:\n    - {gpus: 2}",
     "job.yaml:3: topology.nodes[0]: the key nic is missing"},
    {"GpusMissing", "topology:\n  nodes:\n    - {nic: 2GB/s}",
     "job.yaml:3: topology.nodes[0]: the key gpus is missing"},
    {"CountZero", "topology: {nodes: [{count: 0, gpus: 2, nic: 1GB/s}]}",
     "job.yaml:1: topology.nodes[0].count: expected a whole number from 1 to 1048576, found 0"},
    {"GpusNegative", "topology: {nodes: [{gpus: -2, nic: 1GB/s}]}",
     "job.yaml:1: topology.nodes[0].gpus: expected a whole number from 1 to 1048576, found -2"},
    {"NicsPerGpuZero", "topology: {nodes: [{gpus: 2, nic: 1GB/s, nics_per_gpu: 0}]}",
     "job.yaml:1: topology.nodes[0].nics_per_gpu: expected a whole number from 1 to 64, found 0"},
    {"NicRateZero", "topology: {nodes: [{gpus: 2, nic: 0}]}",
     "job.yaml:1: topology.nodes[0].nic: expected a rate above 0, found 0"},
    {"NicRateNegative", "topology: {nodes: [{gpus: 2, nic: -5GB/s}]}",
     "job.yaml:1: topology.nodes[0].nic: expected a rate such as 50GB/s or 400Gb/s, found -5GB/s"},
    {"NvlinkASize", "topology: {nodes: [{gpus: 2, nic: 5GB/s, nvlink: 450GB}]}",
     "job.yaml:1: topology.nodes[0].nvlink: expected a rate such as 50GB/s or 400Gb/s, found "
     "450GB"},
    {"RateBeyondReason", "topology: {nodes: [{gpus: 2, nic: 2PB/s}]}",
     "job.yaml:1: topology.nodes[0].nic: nodes[0].nic of 2 PB/s at rate_scale 1 is more than 1 "
     "PB/s"},
    {"RateThatRoundsToNothing", "topology: {nodes: [{gpus: 2, nic: 1B/s}]}",
     "job.yaml:1: topology.nodes[0].nic: nodes[0].nic of 1 B/s at rate_scale 1 and efficiency 0.95 "
     "is less than 1 "
     "B/s"},
    {"UnknownGpu", "topology:\n  nodes:\n    - {gpus: 2, nic: 5GB/s, gpu: h10}",
     "job.yaml:3: topology.nodes[0].gpu: unknown GPU h10 (did you mean h100?); known are a100, "
     "a100-40gb, a100-pcie, a800, a10g, h100, h200, h800, h20, b200, b300, gb200, gb300"},
    {"DomainWithoutNvlink", "topology: {nodes: [{gpus: 2, nic: 5GB/s, nvlink_domain: rack0}]}",
     "job.yaml:1: topology.nodes[0].nvlink_domain: the nodes have no nvlink that could join them"},
    {"DomainWithoutName",
     "topology: {nodes: [{gpus: 2, nic: 5GB/s, nvlink: 9GB/s, nvlink_domain: ''}]}",
     "job.yaml:1: topology.nodes[0].nvlink_domain: expected the name of an NVLink domain, found "
     "nothing"},
    {"ParameterInAnExplicitForm", "topology: {nodes: [{count: $nodes, gpus: 2, nic: 5GB/s}]}",
     "job.yaml:1: topology.nodes[0].count: no parameter $nodes"},
    {"UnknownFabric",
     "topology:\n  nodes: [{gpus: 2, nic: 5GB/s}]\n  fabric: {kind: rail-optimized}",
     "job.yaml:3: topology.fabric.kind: expected one of non-blocking, leaf-spine, rail-optimised, "
     "rail-only, switches, found rail-optimized (did you mean rail-optimised?)"},
    {"Oversubscribed",
     "topology:\n  nodes: [{gpus: 2, nic: 5GB/s}]\n  fabric: {oversubscription: 2}",
     "job.yaml:3: topology.fabric.oversubscription: a non-blocking fabric has no "
     "oversubscription; expected kind leaf-spine or rail-optimised, and `unit:`, the nodes below "
     "one leaf"},
    {"Links",
     "topology:\n  nodes: [{gpus: 2, nic: 5GB/s}]\n  links: [{between: [a, b], rate: 5GB/s}]",
     "job.yaml:3: topology.links[0].between[0]: no node is at a site a; expected the `site:` of "
     "two "
     "groups of nodes"},
    {"FabricKeyMisspelt", "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {units: 2}}",
     "job.yaml:1: topology.fabric.units: unknown key (did you mean unit?)"},
    {"UnitWithoutLeaves", "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {unit: 2}}",
     "job.yaml:1: topology.fabric.unit: a non-blocking fabric is one switch; expected kind "
     "leaf-spine, rail-optimised or rail-only"},
    {"UnitZero", "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: leaf-spine, unit: 0}}",
     "job.yaml:1: topology.fabric.unit: expected a whole number from 1 to 1048576, found 0"},
    {"LeafSpineWithoutUnit",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: leaf-spine}}",
     "job.yaml:1: topology.fabric: kind leaf-spine needs `unit:`, the nodes below one leaf"},
    {"OversubscribedRailsWithoutUnit",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: rail-optimised, oversubscription: "
     "2}}",
     "job.yaml:1: topology.fabric.oversubscription: one leaf per rail has no up-link; expected "
     "`unit:`, the nodes below one set of leaves"},
    {"RailOnlyWithPods",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: rail-only, unit: 1, pod: 2}}",
     "job.yaml:1: topology.fabric.pod: rails of a rail-only fabric meet nowhere; leave the key "
     "out"},
    {"CoreWithoutPods",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: leaf-spine, unit: 1, "
     "core_oversubscription: 2}}",
     "job.yaml:1: topology.fabric.core_oversubscription: there is a core only above pods; expected "
     "`pod:` as well"},
    {"PlanesBeyondReason", "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {planes: 17}}",
     "job.yaml:1: topology.fabric.planes: expected a whole number from 1 to 16, found 17"},
    {"SwitchesForgotten", "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: switches}}",
     "job.yaml:1: topology.fabric: kind switches needs the list `switches:`"},
    {"SwitchesOfAnotherKind",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: leaf-spine, unit: 1, switches: "
     "[{name: a, nodes: node0}]}}",
     "job.yaml:1: topology.fabric.kind: a list of switches is there as well; expected kind: "
     "switches"},
    {"SwitchesWithoutKind",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {switches: [{name: a, nodes: node0}]}}",
     "job.yaml:1: topology.fabric: a list of switches needs `kind: switches` beside it"},
    {"SwitchesAndUnit",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: switches, unit: 1, switches: "
     "[{name: a, nodes: node0}]}}",
     "job.yaml:1: topology.fabric.unit: the list of switches says this; leave the key out"},
    {"PublishedWithoutSource",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: leaf-spine, unit: 1, published: "
     "{nics_per_node: 1, units: []}}}",
     "job.yaml:1: topology.fabric.published: the key source is missing"},
    {"PublishedWithoutNics",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s}], fabric: {kind: leaf-spine, unit: 1, published: "
     "{source: s, units: []}}}",
     "job.yaml:1: topology.fabric.published: the key nics_per_node is missing"},
    {"LinkToItself",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s, site: a}], links: [{between: [a, a], rate: 1GB/s}]}",
     "job.yaml:1: topology.links[0].between: expected two different sites"},
    {"LinkOfThreeSites",
     "topology: {nodes: [{gpus: 1, nic: 1GB/s, site: a}], links: [{between: [a, a, a], rate: "
     "1GB/s}]}",
     "job.yaml:1: topology.links[0].between: expected two sites"},
    {"LinkTwice",
     "topology:\n  nodes: [{gpus: 1, nic: 1GB/s, site: a}, {gpus: 1, nic: 1GB/s, site: b}]\n"
     "  links: [{between: [a, b], rate: 1GB/s}, {between: [b, a], rate: 2GB/s}]",
     "job.yaml:3: topology.links[1].between: the two sites are joined twice; expected one link "
     "with "
     "the sum of the rates"},
    {"LinkWithoutRate",
     "topology:\n  nodes: [{gpus: 1, nic: 1GB/s, site: a}, {gpus: 1, nic: 1GB/s, site: b}]\n"
     "  links: [{between: [a, b], rate: 0}]",
     "job.yaml:3: topology.links[0].rate: expected a rate above 0, found 0"},
    {"EfficiencyAboveOne", "topology: {nodes: [{gpus: 2, nic: 5GB/s}], efficiency: 1.2}",
     "job.yaml:1: topology.efficiency: expected a number above 0 and at most 1, found 1.2"},
    {"EfficiencyZero", "topology: {nodes: [{gpus: 2, nic: 5GB/s}], efficiency: {copy: 0}}",
     "job.yaml:1: topology.efficiency.copy: expected a number above 0 and at most 1, found 0"},
    {"EfficiencyOfAnUnknownKind",
     "topology:\n  name: dgx-h100\n  nodes: 1\n  efficiency:\n    nvlnk: 0.9",
     "job.yaml:5: topology.efficiency.nvlnk: unknown key (did you mean nvlink?)"},
    {"EfficiencyInWords", "topology: {name: dgx-h100, nodes: 1, efficiency: good}",
     "job.yaml:1: topology.efficiency: expected a number, found good"},
    {"EfficiencyAList", "topology: {name: dgx-h100, nodes: 1, efficiency: [0.9]}",
     "job.yaml:1: topology.efficiency: expected a map, found a list"},
    {"LatencyNegative", "topology: {name: dgx-h100, nodes: 1, latency: -1us}",
     "job.yaml:1: topology.latency: expected a time such as 5us or 0.02, found -1us"},
    {"LatencyTooLong", "topology: {name: dgx-h100, nodes: 1, latency: {nic: {latency: 2min}}}",
     "job.yaml:1: topology.latency.nic.latency: expected a time of at most 60 s, found 2min"},
    {"LatencyThatSaysNothing", "topology: {name: dgx-h100, nodes: 1, latency: {nic: {}}}",
     "job.yaml:1: topology.latency.nic: expected latency, occupancy or both"},
    {"LatencyOfAnUnknownKey",
     "topology: {name: dgx-h100, nodes: 1, latency: {nic: {latencies: 1us}}}",
     "job.yaml:1: topology.latency.nic.latencies: unknown key (did you mean latency?)"},
    {"RateScaleZero", "topology: {name: dgx-h100, nodes: 1, rate_scale: 0}",
     "job.yaml:1: topology.rate_scale: expected a number above 0 and at most 1000000, found 0"},
    {"RateScaleTooSmallForTheRates", "topology: {name: dgx-h100, nodes: 1, rate_scale: 1e-11}",
     "job.yaml:1: topology.rate_scale: nodes[0].nic of 50 GB/s at rate_scale 1e-11 and "
     "efficiency 0.95 is less than 1 B/s"},
    {"FileMissing", "a: 1\ntopology: clusters/lab.yaml",
     "job.yaml:2: topology: no such file: clusters/lab.yaml (looked in . and from the working "
     "folder)"},
    {"NothingAtAll", "topology:",
     "job.yaml:1: topology: expected {name: ..., nodes: ...}, a file, "
     "or {nodes: [...]}, one topology"},
    {"ListInAList", "topology: [[{name: dgx-h100, nodes: 1}]]",
     "job.yaml:1: topology[0]: expected {name: ..., nodes: ...}, a file, or {nodes: [...]}, one "
     "topology"},
    {"ListEmpty", "topology: []",
     "job.yaml:1: topology: expected at least one topology, found none"},
    {"TwoNodesOfOneName",
     "topology:\n  nodes: [{gpus: 1, nic: 1GB/s, name: a}, {gpus: 1, nic: 1GB/s, name: a}]",
     "job.yaml:2: topology: two nodes are called a"},
    {"JoinTooLarge",
     "topology:\n  - {name: dgx-h100, nodes: 131072}\n  - {name: dgx-h100, nodes: 1}",
     "job.yaml:3: topology[1]: more than 1048576 GPUs or 1048576 NICs in all"},
};

INSTANTIATE_TEST_SUITE_P(Jobs, TopologyRefusal, testing::ValuesIn(kBadInputs),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(TopologyRefusals, AnUnknownNameListsTheLibrary) {
  EXPECT_EQ(refusal("a: 1\ntopology: {name: dgx-h10, nodes: 4}"),
            fmt::format("job.yaml:2: topology.name: unknown topology dgx-h10 (did you mean "
                        "dgx-h100?); the library has {}",
                        fmt::join(topology_library(), ", ")));
}

TEST(TopologyFileRefusal, PointsIntoTheFile) {
  TemporaryFolder folder;
  const std::string path =
      folder.write("lab.yaml", "nodes:\n  - {gpus: 2, nic: 5GB/s}\nfabrik: {}\n");
  EXPECT_EQ(refusal("topology: lab.yaml", folder.path()),
            path + ":3: fabrik: unknown key (did you mean fabric?)");
}

TEST(TopologyFileRefusal, AFileHoldsOneTopology) {
  TemporaryFolder folder;
  const std::string path = folder.write("lab.yaml", "- {name: dgx-h100, nodes: 1}\n");
  EXPECT_EQ(refusal("topology: lab.yaml", folder.path()),
            path + ":1: expected a map, found a list");
}

TEST(TopologyFileRefusal, ParametersForAFileWithoutAny) {
  TemporaryFolder folder;
  folder.write("lab.yaml", "nodes:\n  - {gpus: 2, nic: 5GB/s}\n");
  EXPECT_EQ(refusal("topology: {name: lab.yaml, nodes: 2}", folder.path()),
            "job.yaml:1: topology: lab.yaml takes no parameters: it has no `parameters:`");
}

TEST(TopologyFileRefusal, BrokenYaml) {
  TemporaryFolder folder;
  const std::string path = folder.write("lab.yaml", "nodes:\n  - {gpus: 2\n");
  EXPECT_THAT(refusal("topology: lab.yaml", folder.path()),
              testing::StartsWith(path + ":3: not valid YAML: "));
}

TEST(TopologyFileRefusal, FoldersAndDevicesAreNoFiles) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/lab.yaml");
  EXPECT_EQ(refusal("topology: lab.yaml", folder.path()),
            fmt::format("job.yaml:1: topology: no such file: lab.yaml (looked in {} and from the "
                        "working folder)",
                        folder.path()));
  EXPECT_EQ(refusal("topology: /dev/zero", folder.path()),
            fmt::format("job.yaml:1: topology: no such file: /dev/zero (looked in {} and from the "
                        "working folder)",
                        folder.path()));
}

}  // namespace
}  // namespace transload
