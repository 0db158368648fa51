#include "topologies/import/pci_place.h"

#include <algorithm>
#include <map>

#include "common/check.h"

namespace transload {
namespace {

std::size_t common_bridges(const PciPlace& a, const PciPlace& b) {
  const auto [end, unused] =
      std::mismatch(a.bridges.begin(), a.bridges.end(), b.bridges.begin(), b.bridges.end());
  return static_cast<std::size_t>(end - a.bridges.begin());
}

bool is_known_and_equal(std::int32_t a, std::int32_t b) { return a != kUnknown && a == b; }

class SwitchNumbers {
 public:
  std::int32_t number(const PciPlace& place) {
    if (place.bridges.empty()) return kUnknown;
    const auto next = static_cast<std::int32_t>(numbers_.size());
    return numbers_.try_emplace(place.bridges.front(), next).first->second;
  }
  std::int32_t count() const { return static_cast<std::int32_t>(numbers_.size()); }

 private:
  std::map<std::int32_t, std::int32_t> numbers_;
};

}  // namespace

PcieDistance pcie_distance(const PciPlace& a, const PciPlace& b, BridgeForm form) {
  const std::size_t common = common_bridges(a, b);
  if (common > 0) {
    // Below the last common bridge a device of the same switch has no bridge of its own, or, where
    // bridges are ports, the one that it is plugged into.
    const std::size_t own = form == BridgeForm::kPort ? 1 : 0;
    const std::size_t below = std::max(a.bridges.size(), b.bridges.size()) - common;
    return below <= own ? PcieDistance::kSameBridge : PcieDistance::kSameSwitch;
  }
  if (is_known_and_equal(a.host_bridge, b.host_bridge)) return PcieDistance::kHostBridge;
  if (!is_known_and_equal(a.socket, b.socket)) return PcieDistance::kOtherNuma;
  const bool told_apart = a.host_bridge != kUnknown || b.host_bridge != kUnknown;
  return told_apart ? PcieDistance::kSameNuma : PcieDistance::kHostBridge;
}

void apply_places(ImportedNode& node, const std::vector<PciPlace>& gpus,
                  const std::vector<PciPlace>& nics, BridgeForm form) {
  TRANSLOAD_CHECK(gpus.size() == node.gpus.size() && nics.size() == node.nics.size(),
                  "every device has a place");
  SwitchNumbers switches;
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    node.gpus[gpu].numa = gpus[gpu].numa;
    node.gpus[gpu].pcie_switch = switches.number(gpus[gpu]);
  }
  for (std::size_t nic = 0; nic < nics.size(); ++nic) {
    node.nics[nic].numa = nics[nic].numa;
    node.nics[nic].pcie_switch = switches.number(nics[nic]);
  }
  node.pcie_switches = switches.count();
  node.distance.clear();
  for (const PciPlace& gpu : gpus) {
    std::vector<PcieDistance>& row = node.distance.emplace_back();
    for (const PciPlace& nic : nics) row.push_back(pcie_distance(gpu, nic, form));
  }
}

}  // namespace transload
