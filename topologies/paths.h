// Ways through a cluster: which switches lie between two NICs, and how one GPU reaches another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/topology.h"

namespace transload {

// The way between two NICs: up-links from the sender's leaf to the switch where the way turns, then
// down-links from there; both as indices into Topology::switches of the switch *below* the link, in
// the order in which bytes pass.
struct NicPath {
  std::vector<std::int32_t> up;
  std::vector<std::int32_t> down;
  std::int32_t wan = -1;        // index into wan_links where the way leaves the site
  std::int64_t latency_ps = 0;  // of all switches but the first, and of the link between sites
};

// Empty where no switch and no link between sites joins the two.
std::optional<NicPath> path_between_nics(const Topology& topology, std::int32_t from,
                                         std::int32_t to);

// Switches from `leaf` up to its root, the leaf first.
std::vector<std::int32_t> switches_above(const Topology& topology, std::int32_t leaf);

// Whether a GPU and a NIC of its node are known to hang at different PCIe switches: their bytes
// then load the up-links of both.
bool crosses_pcie(const Topology& topology, std::int32_t gpu, std::int32_t nic);

// How one GPU's bytes reach another GPU: at most one NVLink hop on each side of one network hop.
struct GpuPath {
  enum class Kind { kSelf, kNvlink, kNetwork };
  Kind kind = Kind::kSelf;
  std::int32_t sender = -1;    // GPU that puts the bytes on the network: `from`, or a neighbour
  std::int32_t receiver = -1;  // GPU that takes them from it: `to`, or a neighbour
  std::int32_t nic_out = -1;
  std::int32_t nic_in = -1;
  NicPath network;
  std::int64_t rate = 0;        // achieved bytes/s of its slowest link; 0: costs no time
  std::int64_t latency_ps = 0;  // largest link latency of each hop, summed over the hops
};

// All sensible ways from one GPU to another, the best first: itself; NVLink inside a domain; else
// over the network, by the pair of NICs with the fewest switches between them, nearest first. Where
// that way leaves its leaf, or where no switch joins the two (rail-only fabrics, planes), the ways
// over NVLink to a neighbour on the right rail follow, at the sender's side and at the receiver's.
// Empty: no way. Throws InputError for GPUs that do not exist.
std::vector<GpuPath> gpu_paths(const Topology& topology, std::int32_t from, std::int32_t to);

// The way in words: "gpu3 -NVLink-> gpu5 -node0.nic5-> leaf0.5 -> node7.nic5 -> gpu61".
std::string path_text(const Topology& topology, std::int32_t from, std::int32_t to,
                      const GpuPath& path);

}  // namespace transload
