#include "planner/strategy/m2n/issue_groups.h"

#include <algorithm>

#include "common/units.h"

namespace transload {

std::int32_t IssueGroups::place(std::int32_t out_port, std::int32_t in_port, std::int64_t bytes,
                                std::span<const OpId> before) {
  if (!exist_) return kNone;
  const Place ready = latest(before);
  std::int64_t& out_free = free_ps_[static_cast<std::size_t>(out_port)];
  std::int64_t& in_free = free_ps_[static_cast<std::size_t>(in_port)];
  const auto time = [&](std::int32_t port) {
    return duration_ps(bytes, port_rates_[static_cast<std::size_t>(port)]);
  };
  const std::int64_t start = std::max({ready.end_ps, out_free, in_free});
  const std::int64_t end = start + std::max(time(out_port), time(in_port));
  out_free = in_free = end;
  const std::int32_t group = std::max(ready.group + 1, static_cast<std::int32_t>(start / span_ps_));
  places_.push_back({group, end});
  return group;
}

void IssueGroups::pass(std::span<const OpId> before) {
  if (exist_) places_.push_back(latest(before));
}

IssueGroups::Place IssueGroups::latest(std::span<const OpId> before) const {
  Place latest;
  for (const OpId op : before) {
    latest.group = std::max(latest.group, places_[op].group);
    latest.end_ps = std::max(latest.end_ps, places_[op].end_ps);
  }
  return latest;
}

}  // namespace transload
