#include "planner/schedule/check/findings.h"

#include <fmt/format.h>

namespace transload {

SlotClass slot_class_of(const Plan& plan, std::int32_t rank, std::int32_t slot) {
  std::int64_t left = slot;
  const std::size_t base = static_cast<std::size_t>(rank) * kSlotClasses;
  for (std::size_t c = 0; c + 1 < kSlotClasses; ++c) {
    if (left < plan.staging_slots[base + c]) return static_cast<SlotClass>(c);
    left -= plan.staging_slots[base + c];
  }
  return SlotClass::kBucket;
}

bool is_clipped(const Plan& plan, OpId op) {
  const OpRole role = op_role(plan, op);
  return op_kind(plan, op) == OpKind::kCopy && (role == OpRole::kUnpack || role == OpRole::kLoad) &&
         plan.op_source_slot[op] >= 0 &&
         slot_class_of(plan, plan.op_source[op], plan.op_source_slot[op]) == SlotClass::kBucket;
}

std::string describe_op(const Plan& plan, OpId op) {
  const std::int32_t source = plan.op_source[op];
  const std::int32_t destination = plan.op_destination[op];
  std::string text = fmt::format("operation {} ({}, ", op, name_of(op_role(plan, op)));
  text += source == destination ? fmt::format("rank {}", source)
                                : fmt::format("rank {} -> rank {}", source, destination);
  if (moves_bytes(plan, op))
    text += fmt::format(", bundle {} bytes {}..{}", plan.op_bundle[op], plan.op_begin[op],
                        plan.op_begin[op] + plan.op_bytes[op]);
  return text + ")";
}

std::string describe_box(const Plan& plan, std::uint32_t tensor, std::uint64_t tensors,
                         std::span<const std::int64_t> bounds) {
  std::string text = fmt::format("tensor {}", tensor_name(plan, tensor));
  if (tensors > 1) text += fmt::format(" (and {} more)", tensors - 1);
  if (bounds.empty()) return text;
  text += " box ";
  for (std::size_t d = 0; d < bounds.size(); d += 2)
    text += fmt::format("{}[{},{})", d > 0 ? " x " : "", bounds[d], bounds[d + 1]);
  return text;
}

}  // namespace transload
