#include "executor/engine/describe.h"

#include <fmt/format.h>

#include "common/units.h"
#include "planner/schedule/access.h"

namespace transload {

std::string describe_operation(const Plan& plan, OpId op) {
  std::string where = fmt::format("rank {}", plan.op_source[op]);
  if (plan.op_source[op] != plan.op_destination[op])
    where += fmt::format(" -> rank {}", plan.op_destination[op]);
  std::string what(name_of(op_role(plan, op)));
  if (plan.op_bundle[op] >= 0) {
    what += fmt::format(" of {}", format_bytes(static_cast<double>(plan.op_bytes[op])));
    const auto bundle = static_cast<std::size_t>(plan.op_bundle[op]);
    const std::uint64_t slice = plan.bundle_slice_first[bundle];
    if (slice < plan.bundle_slice_first[bundle + 1])
      what += fmt::format(", tensor {}", tensor_name(plan, plan.slice_tensor_first[slice]));
    if (slice + 1 < plan.bundle_slice_first[bundle + 1]) what += " and more";
  }
  return fmt::format("{}, operation {} ({})", where, op, what);
}

}  // namespace transload
