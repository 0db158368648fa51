#include "topologies/import/pci_ids.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

namespace transload {
namespace {

constexpr std::int64_t kNvidia = 0x10de;
constexpr std::int64_t kAmazon = 0x1d0f;

constexpr const char* kPciIds = "pci.ids, version of 2023-04-11";

// Class codes as in pci.ids: 0300 VGA, 0302 3D controller, 0200 Ethernet, 0207 InfiniBand, 0208
// another fabric, 0604 PCI bridge, 0680 bridge of another kind, which is what NVSwitches are.
struct ClassKind {
  std::int64_t code;
  PciKind kind;
  bool nvidia_only;
};
constexpr std::array<ClassKind, 7> kClasses = {{{0x0300, PciKind::kGpu, true},
                                                {0x0302, PciKind::kGpu, true},
                                                {0x0200, PciKind::kNetwork, false},
                                                {0x0207, PciKind::kNetwork, false},
                                                {0x0208, PciKind::kNetwork, false},
                                                {0x0604, PciKind::kBridge, false},
                                                {0x0680, PciKind::kNvSwitch, true}}};

constexpr std::array<GpuProduct, 9> kGpus = {
    {{0x20b0, "a100-40gb", "A100 SXM4 40GB", true, kPciIds},
     {0x20b2, "a100", "A100 SXM4 80GB", true, kPciIds},
     {0x20b5, "a100-pcie", "A100 PCIe 80GB", true, kPciIds},
     {0x20f3, "a800", "A800 SXM4 80GB", true, kPciIds},
     {0x2237, "a10g", "A10G", false, kPciIds},
     {0x2324, "h800", "H800", true, kPciIds},
     {0x2330, "h100", "H100 SXM5 80GB", true, kPciIds},
     {0x2335, "h200", "H200 SXM 141GB", true, "hwloc export of an AWS p5en.48xlarge"},
     {0x2901, "b200", "B200", true, "hwloc export of an AWS p6-b200.48xlarge"}}};

constexpr std::array<NicProduct, 5> kNics = {
    {{{kAmazon, 0xec20}, "Elastic Network Adapter", false, 0, kPciIds},
     {{kAmazon, 0xefa0},
      "EFA v1",
      true,
      12'500'000'000,
      "AWS EC2 user guide: p4d.24xlarge has 4 EFA cards and 400 Gb/s"},
     {{kAmazon, 0xefa1},
      "EFA v2",
      true,
      12'500'000'000,
      "AWS EC2 user guide: p5.48xlarge has 32 EFA cards and 3200 Gb/s"},
     {{kAmazon, 0xefa2},
      "EFA v3",
      true,
      25'000'000'000,
      "stas00/ml-engineering pull request 102: p5en.48xlarge has 16 EFA cards of 200 Gb/s"},
     // 400 Gb/s on p6-b200 has no source yet.
     {{kAmazon, 0xefa3}, "EFA v4", true, 0, ""}}};

bool is_stated(std::int64_t vendor) { return vendor != 0 && vendor != 0xffff; }

}  // namespace

PciKind pci_kind(std::int64_t class_code, PciId id) {
  for (const ClassKind& entry : kClasses) {
    if (entry.code != class_code) continue;
    if (entry.nvidia_only && is_stated(id.vendor) && id.vendor != kNvidia) return PciKind::kOther;
    return entry.kind;
  }
  return PciKind::kOther;
}

const GpuProduct* find_gpu_product(PciId id) {
  if (id.vendor != kNvidia) return nullptr;
  for (const GpuProduct& product : kGpus)
    if (product.device == id.device) return &product;
  return nullptr;
}

const NicProduct* find_nic_product(PciId id) {
  for (const NicProduct& product : kNics)
    if (product.id.vendor == id.vendor && product.id.device == id.device) return &product;
  return nullptr;
}

std::string normal_bus(const std::string& bus) {
  static const std::regex address("0*([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\\.[0-7])");
  std::string lower = bus;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  std::smatch parts;
  // The longest run of zeros goes first, so that the domain keeps four digits at least.
  if (lower.size() > 32 || !std::regex_match(lower, parts, address)) return "";
  return parts[1].str() + ":" + parts[2].str();
}

}  // namespace transload
