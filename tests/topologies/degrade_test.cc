// Slow and dead NICs, and traffic beside the refit.
#include "topologies/degrade.h"

#include <gmock/gmock.h>

#include "common/error.h"
#include "tests/topologies/loading.h"

namespace transload {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Topology two_nodes() {
  return load(
      "topology: {nodes: [{count: 2, gpus: 3, nvlink: 400GB/s, nic: 50GB/s}], efficiency: {nic: "
      "{value: 0.8, low: 0.6, high: 0.9}, nvlink: 0.5}}");
}

TEST(Degrade, HalfRateHalvesTheLine) {
  Topology topology = two_nodes();
  EXPECT_TRUE(apply_faults(parse_nic_faults("node1:nic2=half", "--fault"), topology).empty());
  EXPECT_EQ(topology.nics[5].rate, 25'000'000'000);
  EXPECT_EQ(topology.nics[4].rate, 50'000'000'000);
}

TEST(Degrade, AShareIsTakenOfTheLine) {
  Topology topology = two_nodes();
  apply_faults(parse_nic_faults("node0.nic0=0.25,node0.nic1=0.1", "--fault"), topology);
  EXPECT_EQ(topology.nics[0].rate, 12'500'000'000);
  EXPECT_EQ(topology.nics[1].rate, 5'000'000'000);
}

TEST(Degrade, AGpuWithoutNicSharesTheNeighbours) {
  Topology topology = two_nodes();
  const auto notes =
      apply_faults(parse_nic_faults("node0.nic0=down,node0.nic1=down", "--fault"), topology);
  EXPECT_THAT(topology.gpus[0].nics, ElementsAre(2));
  EXPECT_THAT(topology.gpus[1].nics, ElementsAre(2));
  EXPECT_THAT(topology.gpus[2].nics, ElementsAre(2));
  EXPECT_THAT(topology.gpus[3].nics, ElementsAre(3));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("GPU 0 shares node0.nic2 with GPU 2"),
                                 HasSubstr("GPU 1 shares node0.nic2 with GPU 2")));
}

TEST(Degrade, BackgroundTakesItsShareOfNicsOnly) {
  Topology topology = two_nodes();
  take_background(0.25, topology);
  for (const Nic& nic : topology.nics) {
    EXPECT_EQ(nic.rate, 50'000'000'000) << "the line stays";
    EXPECT_EQ(nic_costs(topology, nic).efficiency_ppm, 600'000);
  }
  for (const Gpu& gpu : topology.gpus)
    EXPECT_EQ(nvlink_costs(topology, gpu).efficiency_ppm, 500'000);
}

std::string complaint(const std::string& faults) {
  try {
    Topology topology = two_nodes();
    apply_faults(parse_nic_faults(faults, "--fault"), topology);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Degrade, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(complaint("node0.nic0"), HasSubstr("expected NODE:NIC=STATE"));
  EXPECT_THAT(complaint("node0.nic0=slow"), HasSubstr("found slow"));
  EXPECT_THAT(complaint("node0.nic0=1"), HasSubstr("below 1"));
  EXPECT_THAT(complaint("node0.nic0=0"), HasSubstr("above 0"));
  EXPECT_THAT(complaint("node0.nic0="), HasSubstr("found nothing"));
  EXPECT_THAT(complaint("node0.nic7=down"), HasSubstr("did you mean node0.nic"));
  EXPECT_THAT(complaint("node0.nic0=half,node0.nic0=down"), HasSubstr("twice"));
  EXPECT_THAT(complaint("node0.nic0=down,node0.nic1=down,node0.nic2=down"),
              HasSubstr("node0 has no NIC left"));
}

}  // namespace
}  // namespace transload
