// What PCI class codes and device ids say about a device: GPU, network card, bridge, NVSwitch, and
// for the ids that have a source, the model of a GPU and the rate of a network card.
//
// Ids whose meaning has no source are not in the tables: their model or rate is then asked for.
#pragma once

#include <cstdint>
#include <string>

namespace transload {

enum class PciKind : std::uint8_t { kGpu, kNetwork, kBridge, kNvSwitch, kOther };

struct PciId {
  std::int64_t vendor = 0;  // 0 or 0xffff: not stated
  std::int64_t device = 0;
};

struct GpuProduct {
  std::int64_t device;  // of vendor 10de
  const char* model;    // as in topologies/gpus.yaml
  const char* product;
  bool nvlink;  // has NVLink ports, used or not
  const char* source;
};

struct NicProduct {
  PciId id;
  const char* product;
  bool rdma;          // false: a card for ordinary traffic
  std::int64_t rate;  // bytes/s in one direction; 0: the id does not fix it, or no source does
  const char* source;
};

// Kind by class code: the upper 16 bits of the 24 (0x0302 of 0x030200). GPUs and NVSwitches have to
// be NVIDIA's, or of an unstated vendor.
PciKind pci_kind(std::int64_t class_code, PciId id);

// Null for ids that are not in the table.
const GpuProduct* find_gpu_product(PciId id);
const NicProduct* find_nic_product(PciId id);

// A PCI address as all readers write it: lower case, a domain of at least four digits without
// further leading zeros ("00000000:0F:00.0" is "0000:0f:00.0"). Empty for text that is not one.
std::string normal_bus(const std::string& bus);

}  // namespace transload
