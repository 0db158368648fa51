#include "topologies/topology.h"

#include "common/check.h"

namespace transload {

std::int64_t achieved_rate(std::int64_t line, const LinkCosts& costs) {
  TRANSLOAD_CHECK(line >= 0 && costs.efficiency_ppm >= 0,
                  "rates and efficiencies are not negative");
  const auto product = static_cast<__int128>(line) * costs.efficiency_ppm;
  return static_cast<std::int64_t>(product / kPpm);
}

}  // namespace transload
