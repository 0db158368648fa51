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

std::string refusal(const std::string& text) { return testing::refusal(read_slurm_topology, text); }

// Two racks of three nodes below a spine each, one core.
constexpr const char* kTree = R"(# the tree of a small site
# sw.top=core
SwitchName=sw.top Switches=sp[1-2]
switchname=sp1 Switches=lf1
SwitchName=sp2 Switches=lf2 LinkSpeed=100   # no unit
SwitchName=lf1 \
   Nodes=n[01-03]
SwitchName=lf2 Nodes=n[04-05],login1
)";

TEST(SlurmTopology, ReadsATree) {
  const ImportFindings found = read_slurm_topology(kTree, "FILE");
  EXPECT_EQ(found.kind, "slurm-tree");
  const ImportedFabric& fabric = found.fabric.value();
  ASSERT_EQ(fabric.switches.size(), 5U);
  EXPECT_EQ(fabric.switches[0].name, "core");
  EXPECT_EQ(fabric.switches[0].tier, 3);
  EXPECT_EQ(fabric.switches[1].tier, 2);
  EXPECT_EQ(fabric.switches[3].tier, 1);
  EXPECT_EQ(fabric.switches[3].parents, std::vector<std::int32_t>{1});
  ASSERT_EQ(fabric.hosts.size(), 6U);
  EXPECT_EQ(fabric.hosts[2].name, "n03");
  EXPECT_EQ(fabric.hosts[2].ports[0].leaf, 3);
  EXPECT_EQ(fabric.hosts[5].name, "login1");
  EXPECT_EQ(fabric.hosts[5].ports[0].leaf, 4);
  EXPECT_EQ(fabric.hosts[5].nvlink_domain, "");
  EXPECT_THAT(joined(found.asked), HasSubstr("NVLink domain"));
  EXPECT_THAT(joined(found.ignored), HasSubstr("LinkSpeed of 1 switches"));
}

TEST(SlurmTopology, ReadsBlocks) {
  const ImportFindings found = read_slurm_topology(
      "# b1=nvl-1\nBlockName=b1 Nodes=s[1-4]\nBlockName=b2 Nodes=s[5-8]\nBlockSizes=4,8\n", "FILE");
  EXPECT_EQ(found.kind, "slurm-block");
  std::map<std::string, int> domains;
  for (const ImportedHost& host : found.fabric.value().hosts) ++domains[host.nvlink_domain];
  EXPECT_EQ(domains, (std::map<std::string, int>{{"nvl-1", 4}, {"b2", 4}}));
  EXPECT_TRUE(found.fabric->switches.empty());
  EXPECT_THAT(joined(found.warnings), HasSubstr("2 blocks are read as NVLink domains"));
  EXPECT_THAT(joined(found.ignored), HasSubstr("BlockSizes=4,8"));
}

TEST(SlurmTopology, CommentsNameOnlyWhereNamesStayApart) {
  // Both blocks would be called "x": neither is.
  const ImportFindings found =
      read_slurm_topology("# b1=x\nBlockName=b1 Nodes=s1\n# b2=x\nBlockName=b2 Nodes=s2\n", "FILE");
  EXPECT_EQ(found.fabric.value().hosts[0].nvlink_domain, "b1");
  EXPECT_EQ(found.fabric.value().hosts[1].nvlink_domain, "b2");
}

TEST(SlurmTopology, SaysWhereTreesHaveNoPath) {
  const ImportFindings found =
      read_slurm_topology("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n", "FILE");
  EXPECT_THAT(joined(found.warnings), HasSubstr("no path"));
  EXPECT_THAT(joined(read_slurm_topology(kTree, "FILE").warnings), Not(HasSubstr("no path")));
}

TEST(SlurmTopology, RefusesWithPlaceAndReason) {
  EXPECT_THAT(refusal(changed(kTree, "Nodes=n[01-03]", "Nodes=n[01-03")),
              HasSubstr("FILE:6: Nodes"));
  EXPECT_THAT(refusal(changed(kTree, "Switches=lf1", "Switches=lf9")), HasSubstr("lf9"));
  EXPECT_THAT(refusal(changed(kTree, "Switches=lf1", "Swiches=lf1")),
              HasSubstr("did you mean Switches?"));
  EXPECT_THAT(refusal(changed(kTree, "Switches=lf1", "Switches=sw.top")), HasSubstr("ring"));
  EXPECT_THAT(refusal(changed(kTree, "n[04-05]", "n[03-05]")), HasSubstr("n03 hangs at two"));
  EXPECT_THAT(refusal(changed(kTree, "Switches=lf1", "Switches=lf1 Nodes=n9")),
              HasSubstr("either Switches= or Nodes="));
  EXPECT_THAT(refusal(changed(kTree, "SwitchName=lf2", "SwitchName=lf1")),
              HasSubstr("listed twice"));
  EXPECT_THAT(refusal(changed(kTree, "SwitchName=lf2", "SwitchName=lf[2-3]")),
              HasSubstr("not a list"));
  EXPECT_THAT(refusal(changed(kTree, "SwitchName=lf2", "nonsense")), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refusal(std::string(kTree) + "SwitchName=x \\"), HasSubstr("cut off"));
  EXPECT_THAT(refusal("Include other.conf\n"), HasSubstr("give that file itself"));
  EXPECT_THAT(refusal("# nothing\n"), HasSubstr("no SwitchName="));
  EXPECT_THAT(refusal("BlockName=a Nodes=n1\nBlockName=b Nodes=n1\n"), HasSubstr("in two blocks"));
  EXPECT_THAT(refusal("BlockName=a\n"), HasSubstr("expected Nodes="));
  EXPECT_THAT(refusal("BlockName=a Nodes=n1\nBlockSizes=4,x\n"), HasSubstr("numbers of nodes"));
  EXPECT_THAT(refusal("BlockName=a Nodes=n[1-99999999]\n"), HasSubstr("more than 131072"));
}

TEST(SlurmTopology, RefusesBothFormsAndNamesBothReadings) {
  const std::string message = refusal(std::string(kTree) + "BlockName=b Nodes=x1\n");
  EXPECT_THAT(message, HasSubstr("topology/tree"));
  EXPECT_THAT(message, HasSubstr("topology/block"));
}

}  // namespace
}  // namespace transload
