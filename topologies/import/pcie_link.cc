#include "topologies/import/pcie_link.h"

#include <array>
#include <string_view>

namespace transload {
namespace {

struct Generation {
  std::string_view signal_rate;  // GT/s, as files write it
  std::int64_t transfers_per_s;
  std::int64_t wanted;  // of `sent` bits, what is not line encoding
  std::int64_t sent;
};

constexpr std::array<Generation, 11> kGenerations = {{{"2.5", 2'500'000'000, 8, 10},
                                                      {"5", 5'000'000'000, 8, 10},
                                                      {"5.0", 5'000'000'000, 8, 10},
                                                      {"8", 8'000'000'000, 128, 130},
                                                      {"8.0", 8'000'000'000, 128, 130},
                                                      {"16", 16'000'000'000, 128, 130},
                                                      {"16.0", 16'000'000'000, 128, 130},
                                                      {"32", 32'000'000'000, 128, 130},
                                                      {"32.0", 32'000'000'000, 128, 130},
                                                      {"64", 64'000'000'000, 242, 256},
                                                      {"64.0", 64'000'000'000, 242, 256}}};

constexpr std::int64_t kMaxLanes = 32;  // the widest link of the specification

}  // namespace

std::optional<std::int64_t> pcie_rate(const std::string& signal_rate, std::int64_t lanes) {
  if (lanes < 1 || lanes > kMaxLanes) return std::nullopt;
  std::string_view text = signal_rate;
  for (const std::string_view unit : {" GT/s PCIe", " GT/s"}) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    for (const Generation& generation : kGenerations)
      if (generation.signal_rate == text)
        return generation.transfers_per_s * lanes / 8 * generation.wanted / generation.sent;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace transload
