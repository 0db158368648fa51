// What readers of one node's XML collect before it becomes an ImportedNode, and the steps that they
// share: order of devices, models and rates by device id, questions about what is missing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topologies/import/findings.h"
#include "topologies/import/pci_ids.h"
#include "topologies/import/pci_place.h"

namespace transload {

// More GPUs or NICs than any node has: a file beyond it is refused before its matrix of distances
// is built.
inline constexpr std::size_t kMaxDevicesOfNode = 1024;

struct FoundGpu {
  ImportedGpu gpu;
  PciPlace place;
  PciId id;
  std::optional<std::int64_t> order;  // number that the file gives it; nothing: by PCI address
  int line = 0;
};

struct FoundNic {
  ImportedNic nic;
  PciPlace place;
  PciId id;
  std::int64_t slot_rate = 0;         // bytes/s of the card's PCIe link; 0: not stated
  std::optional<std::int64_t> order;  // as above; cards with a number come first
  int line = 0;
};

// "a, b, c and 5 more": the first eight.
std::string listed(const std::vector<std::string>& names);

// Sorts GPUs as CUDA numbers them (by the file's numbers where all GPUs have one, by PCI address
// otherwise) and names them GPU0, GPU1, ...; sorts NICs. Throws InputError for a device that is
// listed twice and for more devices than a node can have.
void order_devices(std::vector<FoundGpu>& gpus, std::vector<FoundNic>& nics,
                   const std::string& file);

// Models and rates by device id, with a warning that names the source of rates that the file does
// not state itself.
void apply_products(std::vector<FoundGpu>& gpus, std::vector<FoundNic>& nics,
                    ImportFindings& findings);

// Warns of cards whose ports together are faster than their PCIe slot, and of rates that are none
// of Ethernet or InfiniBand: both are taken as stated.
void warn_of_odd_rates(const std::vector<FoundNic>& nics, ImportFindings& findings);

// Makes findings.node of ordered devices.
void assemble_node(const std::vector<FoundGpu>& gpus, const std::vector<FoundNic>& nics,
                   BridgeForm form, ImportFindings& findings);

// Asks for GPU models, NICs and NIC rates where findings.node lacks them.
void ask_for_missing(ImportFindings& findings);

}  // namespace transload
