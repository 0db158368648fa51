// The NVLinks of an NCCL topology file: what each GPU's <nvlink> elements say, and the islands that
// follow.
//
// A link ends at an NVSwitch (tclass 0x068000), at a peer (tclass 0x030200), or at something that
// is neither, such as a POWER9 CPU. GPUs that share a switch or a link are one island.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topologies/import/node_parts.h"
#include "topologies/import/xml_file.h"

namespace transload {

struct NvLink {
  std::string target;             // PCI address
  std::int64_t target_class = 0;  // 24 bits
  std::int64_t count = 0;
};

// What the file says about NVLink at one GPU.
struct NvLinks {
  bool dumped = false;  // written by NCCL, which would list NVLinks if there were any
  std::vector<NvLink> links;
};

using NvLinksByBus = std::map<std::string, NvLinks>;
using IgnoredCounts = std::map<std::string, std::size_t>;

// Reads the children of a <gpu> element; what is no <nvlink> is counted in `ignored`.
NvLinks read_nvlinks(const XmlFile& xml, const pugi::xml_node& gpu, IgnoredCounts& ignored);

// Fills nvlink_island of `gpus`, which are in their final order. Asks where the file is silent
// about GPUs that may have NVLink, and where links end at the GPU itself, which NCCL does in
// virtual machines that hide the peer.
void find_nvlink_islands(std::vector<FoundGpu>& gpus, const NvLinksByBus& nvlinks,
                         ImportFindings& findings, IgnoredCounts& ignored);

}  // namespace transload
