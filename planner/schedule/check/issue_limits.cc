#include <fmt/format.h>

#include <algorithm>

#include "planner/schedule/check/checks.h"

namespace transload {
namespace {

// Transfers of one rank in one group, counted where they leave and where they land.
void check_group_sizes(const Plan& plan, Findings& findings) {
  const std::uint32_t limit = plan.header().operations_per_group;
  if (limit == 0) return;
  std::vector<std::int32_t> groups;
  for (std::size_t rank = 0; rank < plan.ranks() && !findings.full(); ++rank) {
    groups.clear();
    for (const OpId op : program(plan, static_cast<std::int32_t>(rank)))
      if (op_kind(plan, op) == OpKind::kTransfer) groups.push_back(plan.op_group[op]);
    std::sort(groups.begin(), groups.end());
    for (auto begin = groups.begin(); begin != groups.end();) {
      const auto end = std::upper_bound(begin, groups.end(), *begin);
      if (static_cast<std::uint64_t>(end - begin) > limit)
        findings.add(kIssueLimits,
                     fmt::format("rank {} has {} transfers in group {}, the limit is {}", rank,
                                 end - begin, *begin, limit));
      begin = end;
    }
  }
}

}  // namespace

void check_issue_limits(const Plan& plan, Findings& findings) {
  for (std::size_t port = 0; port < plan.ports() && !findings.full(); ++port)
    if (plan.header().discipline == Discipline::kWindows && plan.port_window[port] == 0)
      findings.add(kIssueLimits, fmt::format("port {} has a window of 0: it never posts", port));
  if (plan.header().piece_bytes == 0 && !plan.op_stream.empty()) {
    const auto first = std::upper_bound(plan.op_stream_first.begin(), plan.op_stream_first.end(),
                                        std::uint64_t{0});
    const auto op = static_cast<OpId>(first - plan.op_stream_first.begin() - 1);
    findings.add(kIssueLimits,
                 fmt::format("{} streams, but the plan's piece_bytes is 0", describe_op(plan, op)));
  }
  if (plan.header().discipline == Discipline::kGroups) check_group_sizes(plan, findings);
  for (std::size_t rank = 0; rank < plan.ranks() && !findings.full(); ++rank) {
    __int128 staging = 0;
    for (std::size_t c = rank * kSlotClasses; c < (rank + 1) * kSlotClasses; ++c)
      staging += static_cast<__int128>(plan.staging_slots[c]) * plan.staging_slot_bytes[c];
    const std::uint64_t memory = plan.rank_memory_bytes[rank];
    if (memory > 0 && staging > static_cast<__int128>(memory))
      findings.add(kStaging, fmt::format("rank {} has {} bytes of staging slots and a memory of {}",
                                         rank, static_cast<std::uint64_t>(staging), memory));
  }
}

}  // namespace transload
