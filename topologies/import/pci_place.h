// Where a device sits in a machine's PCI tree, and what follows from it: how far a NIC is from a
// GPU, and which of them share a PCIe switch.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/import/findings.h"

namespace transload {

// The way from the CPU down to a device. Ids are the reader's own; equal ids mean the same thing.
struct PciPlace {
  std::int32_t numa = kUnknown;
  std::int32_t socket = kUnknown;       // the part of the machine whose memory is near
  std::int32_t host_bridge = kUnknown;  // unknown: the file does not tell them apart
  std::vector<std::int32_t> bridges;    // outermost first
};

// What one bridge of a file stands for: NCCL writes a switch as one, hwloc writes every port of it.
enum class BridgeForm : std::uint8_t { kSwitch, kPort };

// Distance classes as `nvidia-smi topo` defines them. A file that does not tell host bridges apart
// has no kSameNuma: it is kHostBridge.
PcieDistance pcie_distance(const PciPlace& a, const PciPlace& b, BridgeForm form);

// Fills numa, pcie_switch, pcie_switches and distance of `node` from the places of its GPUs and
// NICs. A PCIe switch is everything below one outermost bridge that has a GPU or NIC: devices of
// one index reach each other without a host bridge.
void apply_places(ImportedNode& node, const std::vector<PciPlace>& gpus,
                  const std::vector<PciPlace>& nics, BridgeForm form);

}  // namespace transload
