// The rate of a PCIe link from what files say about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace transload {

// Bytes/s in one direction of a link of `lanes` lanes at a signal rate as Linux writes it
// ("32.0 GT/s PCIe", "8 GT/s"), after line encoding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s,
// 242 of 256 bytes of a FLIT at 64 GT/s (PCI Express Base Specification). Nothing for other text.
std::optional<std::int64_t> pcie_rate(const std::string& signal_rate, std::int64_t lanes);

}  // namespace transload
