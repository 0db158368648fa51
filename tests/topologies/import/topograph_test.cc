#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/topologies/import/fabric_refusal.h"
#include "topologies/import/readers.h"

namespace transload {
namespace {

using testing::changed;
using ::testing::HasSubstr;
using testing::joined;
using ::testing::Not;

std::string refusal(const std::string& text) { return testing::refusal(read_topograph, text); }

// Racks of unlike size, one without nodes.
constexpr const char* kModel = R"(switches:
  top:
    labels: {site: east}
    switches: [row1, row2]
  row1:
    switches: [rack1, rack2]
  row2:
    switches: [rack3, rack4]
blocks:
- switch: rack1
  nodes: ["n[01-04]"]
  annotations: {test/domain: d1, test/sub-domain: rack1}
- switch: rack2
  nodes: ["n[05-06]", n08]
  annotations: {test/domain: d1, test/sub-domain: rack2}
- switch: rack3
  nodes: ["n[11-12]"]
  labels: {network.topology.nvidia.com/accelerator: d2}
)";

TEST(Topograph, ReadsSwitchesNodesAndDomains) {
  const ImportFindings found = read_topograph(kModel, "FILE");
  EXPECT_EQ(found.kind, "topograph");
  const ImportedFabric& fabric = found.fabric.value();
  std::map<std::int32_t, int> tiers;
  for (const ImportedSwitch& one : fabric.switches) ++tiers[one.tier];
  EXPECT_EQ(tiers, (std::map<std::int32_t, int>{{1, 4}, {2, 2}, {3, 1}}));
  std::map<std::string, int> domains;
  for (const ImportedHost& host : fabric.hosts) ++domains[host.nvlink_domain];
  EXPECT_EQ(domains, (std::map<std::string, int>{{"d1", 7}, {"d2", 2}}));
  const ImportedHost& n08 = fabric.hosts[6];
  EXPECT_EQ(n08.name, "n08");
  const ImportedSwitch& rack2 = fabric.switches[static_cast<std::size_t>(n08.ports[0].leaf)];
  EXPECT_EQ(rack2.name, "rack2");
  EXPECT_EQ(fabric.switches[static_cast<std::size_t>(rack2.parents[0])].name, "row1");
}

TEST(Topograph, AsksWhetherSubDomainsAreDomains) {
  EXPECT_THAT(joined(read_topograph(kModel, "FILE").asked),
              HasSubstr("2 domains hold 2 sub-domains"));
}

TEST(Topograph, ReportsSwitchesThatOnlyOneSideNames) {
  EXPECT_THAT(joined(read_topograph(kModel, "FILE").warnings),
              HasSubstr("no block has nodes: rack4"));
  const ImportFindings stray =
      read_topograph(changed(kModel, "switch: rack3", "switch: rack9"), "FILE");
  EXPECT_THAT(joined(stray.warnings), HasSubstr("blocks name and the tree does not: rack9"));
  EXPECT_THAT(joined(stray.warnings), HasSubstr("no block has nodes: rack3, rack4"));
  EXPECT_EQ(stray.fabric.value().hosts.size(), 9U);
}

TEST(Topograph, AsksForDomainsThatAreNotStated) {
  const ImportFindings found = read_topograph(
      "switches: {a: {switches: [b]}}\nblocks: [{switch: b, nodes: [x1, x2]}]\n", "FILE");
  EXPECT_THAT(joined(found.asked), HasSubstr("nvlink_domain: which one 2 nodes are in"));
  EXPECT_EQ(found.fabric.value().hosts[0].nvlink_domain, "");
}

TEST(Topograph, BlockWithoutSwitchIsAskedFor) {
  const ImportFindings found =
      read_topograph("blocks: [{nodes: [x1], annotations: {a/domain: d}}]\n", "FILE");
  EXPECT_THAT(joined(found.asked), HasSubstr("the switch of 1 blocks"));
  EXPECT_TRUE(found.fabric.value().hosts[0].ports.empty());
}

TEST(Topograph, RefusesWithPlaceAndReason) {
  EXPECT_THAT(refusal(changed(kModel, "n[11-12]", "n[04-12]")), HasSubstr("node n04 stands twice"));
  EXPECT_THAT(refusal(changed(kModel, "[row1, row2]", "[row1, top]")), HasSubstr("ring"));
  EXPECT_THAT(refusal(changed(kModel, "blocks:", "block:")), HasSubstr("blocks"));
  EXPECT_THAT(refusal(changed(kModel, "n[05-06]", "n[06-05]")), HasSubstr("falls"));
  EXPECT_THAT(refusal(changed(kModel, "n[05-06]", "n[1-999999999]")),
              HasSubstr("more than 131072"));
  EXPECT_THAT(refusal("capacity_blocks: []\n"), HasSubstr("old topograph model"));
  EXPECT_THAT(refusal("switches: [{name: a}]\n"), HasSubstr("map of switches"));
  EXPECT_THAT(refusal("switches: {a: {switches: [b]}}\n"), HasSubstr("no nodes"));
  EXPECT_THAT(refusal("blocks: [{nodes: [x], annotations: {a/domain: d, b/domain: e}}]\n"),
              HasSubstr("names d"));
  EXPECT_THAT(refusal(kModel), Not(HasSubstr("FILE")));
}

}  // namespace
}  // namespace transload
