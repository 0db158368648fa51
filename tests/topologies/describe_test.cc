// The summary of a topology, whole.
#include "topologies/describe.h"

#include "tests/topologies/loading.h"

namespace transload {
namespace {

TEST(TopologyDescription, OfALibraryEntry) {
  EXPECT_EQ(describe_topology(load("topology: {name: dgx-h100, nodes: 64}")),
            "dgx-h100: 64 nodes, 512 GPUs, 512 NICs, 64 NVLink domains of 8 GPUs; rail-optimised "
            "fabric\n"
            "  64 nodes of 8 GPUs (h100, 80 GB, HBM 3.352 TB/s), NVLink 450 GB/s, 1 NIC of 50 GB/s "
            "per GPU\n"
            "  fabric: 16 leaf switches, 1 spine layer; no up-link is narrower than what hangs "
            "below\n"
            "  NIC: 95 % of line rate, latency 15 us, occupancy 8 us\n"
            "  NVLink: 82 % of line rate, latency 4 us, occupancy 8 us\n"
            "  copy: 86 % of line rate, latency 0 s, occupancy 5 us\n");
}

TEST(TopologyDescription, SharesALineBetweenEqualNodesOnly) {
  EXPECT_EQ(describe_topology(
                load("topology:\n"
                     "  nodes: [{gpus: 2, nic: 1B/s, nvlink: 9B/s}, {gpus: 2, nic: 1B/s, nvlink: "
                     "9B/s}, {gpus: 1, nic: 2B/s, nics_per_gpu: 2}]\n"
                     "  efficiency: 1\n"
                     "  latency: 0\n")),
            "inline: 3 nodes, 5 GPUs, 6 NICs, 3 NVLink domains of 1 to 2 GPUs; non-blocking "
            "fabric\n"
            "  2 nodes of 2 GPUs (unspecified, copies cost no time), NVLink 9 B/s, 1 NIC of 1 B/s "
            "per GPU\n"
            "  1 node of 1 GPU (unspecified, copies cost no time), no NVLink, 2 NICs of 2 B/s per "
            "GPU\n"
            "  fabric: 1 switch; no up-link is narrower than what hangs below\n"
            "  NIC: 100 % of line rate, latency 0 s, occupancy 0 s\n"
            "  NVLink: 100 % of line rate, latency 0 s, occupancy 0 s\n"
            "  copy: 100 % of line rate, latency 0 s, occupancy 0 s\n");
}

}  // namespace
}  // namespace transload
