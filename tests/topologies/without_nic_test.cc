// NICs that are down: who used them, and whose they use then.
#include "topologies/without_nic.h"

#include <gtest/gtest.h>

#include <array>

#include "common/error.h"
#include "tests/topologies/loading.h"

namespace transload {
namespace {

Topology two_nodes() {
  return load("topology: {nodes: [{count: 2, gpus: 4, nic: 50GB/s, nvlink: 450GB/s}]}\n");
}

TEST(WithoutNic, FindsByNameAndByNumber) {
  const Topology topology = two_nodes();
  EXPECT_EQ(find_nic(topology, "node1:nic2"), 6);
  EXPECT_EQ(find_nic(topology, "1:2"), 6);
  const Topology named = load(
      "topology: {nodes: [{name: [srv1, srv2], gpus: 1, nics: [{name: mlx5_7, rate: 1GB/s, gpus: "
      "[0]}]}]}\n");
  EXPECT_EQ(find_nic(named, "srv2:mlx5_7"), 1);
  EXPECT_EQ(find_nic(named, "1:0"), 1);
}

TEST(WithoutNic, RefusesWhatDoesNotExist) {
  const Topology topology = two_nodes();
  for (const char* bad : {"node1", "node2:nic0", "node1:nic4", "1:4", "-1:0", ":", "node1:"})
    EXPECT_THROW(find_nic(topology, bad), InputError) << bad;
}

TEST(WithoutNic, AGpuWithAnotherNicKeepsToIt) {
  Topology topology = load(
      "topology: {nodes: [{count: 1, gpus: 2, nic: 50GB/s, nics_per_gpu: 2, nvlink: 450GB/s}]}\n");
  remove_nics(topology, std::array{0});
  EXPECT_EQ(topology.gpus[0].nics, (std::vector<std::int32_t>{1}));
  EXPECT_EQ(topology.gpus[1].nics, (std::vector<std::int32_t>{2, 3}));
  EXPECT_EQ(topology.nics.size(), 4u) << "numbers keep their meaning";
}

// GPU 1's neighbours 0 and 2 are equally near: the lower index; GPU 2, orphaned next, avoids the
// NIC that already has two users.
TEST(WithoutNic, AnOrphanSharesTheNicOfItsNearestNeighbourWithTheFewestUsers) {
  Topology topology = two_nodes();
  remove_nics(topology, std::array{1, 2});
  EXPECT_EQ(topology.gpus[1].nics, (std::vector<std::int32_t>{0}));
  EXPECT_EQ(topology.gpus[2].nics, (std::vector<std::int32_t>{3}));
}

TEST(WithoutNic, WithoutNvlinkThereIsNobodyToShareWith) {
  Topology topology = load("topology: {nodes: [{count: 1, gpus: 2, nic: 50GB/s}]}\n");
  remove_nics(topology, std::array{0});
  EXPECT_TRUE(topology.gpus[0].nics.empty());
}

// A rack is one NVLink domain: a tray that lost all of its NICs uses another tray's.
TEST(WithoutNic, ANeighbourOfItsOwnNodeComesFirst) {
  Topology topology = load(
      "topology: {nodes: [{count: 2, gpus: 2, nic: 50GB/s, nvlink: 450GB/s, nvlink_domain: "
      "rack}]}\n");
  remove_nics(topology, std::array{1});
  EXPECT_EQ(topology.gpus[1].nics, (std::vector<std::int32_t>{0}));
  remove_nics(topology, std::array{0});
  EXPECT_EQ(topology.gpus[0].nics, (std::vector<std::int32_t>{2}));
  EXPECT_EQ(topology.gpus[1].nics, (std::vector<std::int32_t>{3}));
}

}  // namespace
}  // namespace transload
