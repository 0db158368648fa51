#include "topologies/import/infiniband_rate.h"

#include <array>

#include "topologies/import/text_lines.h"

namespace transload {
namespace {

struct Speed {
  std::string_view name;
  std::int64_t lane_rate;  // bytes/s
};

constexpr std::array<Speed, 9> kSpeeds = {{{"SDR", 250'000'000},
                                           {"DDR", 500'000'000},
                                           {"QDR", 1'000'000'000},
                                           {"FDR10", 1'250'000'000},
                                           {"FDR", 1'704'545'454},
                                           {"EDR", 3'125'000'000},
                                           {"HDR", 6'250'000'000},
                                           {"NDR", 12'500'000'000},
                                           {"XDR", 25'000'000'000}}};

}  // namespace

std::optional<std::int64_t> infiniband_rate(std::string_view width_and_speed) {
  const std::size_t x = width_and_speed.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto lanes = import_text::whole_number(width_and_speed.substr(0, x));
  if (!lanes || *lanes < 1 || *lanes > 12) return std::nullopt;
  for (const Speed& speed : kSpeeds)
    if (speed.name == width_and_speed.substr(x + 1)) return *lanes * speed.lane_rate;
  return std::nullopt;
}

}  // namespace transload
