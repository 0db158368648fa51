// What two plans have in common: how much of a new plan's work stood in the old one just so, and
// which connections between ranks stay.
#pragma once

#include <cstdint>

#include "planner/schedule/plan_file.h"

namespace transload {

struct PlanReuse {
  // Bytes of all operations of the new plan, and of those that stand in the old one unchanged: same
  // kind, source and destination rank, ports (by name), byte range, and same content of the bundle
  // (tensors by name and boxes). Issue order and staging slots do not count.
  std::uint64_t bytes = 0;
  std::uint64_t reused_bytes = 0;
  // Ordered pairs of ranks that transfer.
  std::uint64_t kept_connections = 0;
  std::uint64_t new_connections = 0;
  std::uint64_t dropped_connections = 0;

  double fraction() const {
    return bytes == 0 ? 0 : static_cast<double>(reused_bytes) / static_cast<double>(bytes);
  }
};

PlanReuse plan_reuse(const Plan& before, const Plan& after);

}  // namespace transload
