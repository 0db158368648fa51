// One global order of transfers by offline list scheduling on their ports.
//
// One-port model: a port carries one transfer per unit at a time. Whenever a source port is idle it
// takes, among its pending transfers whose destination port is idle, one towards the destination
// with the most bytes left; a destination port that becomes idle likewise picks the source with the
// most bytes left. At most twice the optimum by theory, within a few percent in practice
// (docs/ordering.md). Integers only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace transload {

struct PortJob {
  std::int32_t out_port = 0;
  std::int32_t in_port = 0;
  std::int64_t bytes = 0;
};

// Returns the jobs' numbers in the order in which they start. `units[p]`: transfers that port p may
// carry at once; `rates[p]`: bytes/s of the whole port (0: no time).
std::vector<std::uint32_t> list_order(std::span<const PortJob> jobs,
                                      std::span<const std::int64_t> rates,
                                      std::span<const std::uint32_t> units);

}  // namespace transload
