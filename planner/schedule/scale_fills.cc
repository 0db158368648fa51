#include "planner/schedule/scale_fills.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace transload {
namespace {

// The pattern with one more stretch, if that is where its next one lies.
std::optional<FillPattern> extended(FillPattern pattern, const FillPattern& next) {
  if (std::tie(pattern.buffer, pattern.count) != std::tie(next.buffer, next.count)) return {};
  if (pattern.repeats == 1 && pattern.offset + pattern.bytes == next.offset) {
    pattern.bytes += next.bytes;
    return pattern;
  }
  if (pattern.bytes != next.bytes || next.offset <= pattern.offset) return {};
  if (pattern.repeats == 1) pattern.spacing = next.offset - pattern.offset;
  if (pattern.offset + pattern.repeats * pattern.spacing != next.offset) return {};
  ++pattern.repeats;
  return pattern;
}

}  // namespace

std::vector<FillPattern> find_fill_patterns(const Plan& plan) {
  std::vector<FillPattern> patterns;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    std::vector<FillPattern> stretches;
    for (std::uint64_t i = plan.rank_fill_first[rank]; i < plan.rank_fill_first[rank + 1]; ++i)
      stretches.push_back({rank, plan.fill_buffer[i], plan.fill_buffer_count[i],
                           plan.fill_offset[i], plan.fill_bytes[i]});
    std::sort(stretches.begin(), stretches.end(), [](const FillPattern& a, const FillPattern& b) {
      return std::tie(a.buffer, a.count, a.offset) < std::tie(b.buffer, b.count, b.offset);
    });
    std::optional<FillPattern> open;
    for (const FillPattern& next : stretches) {
      std::optional<FillPattern> longer;
      if (open) longer = extended(*open, next);
      if (open && !longer) patterns.push_back(*open);
      open = longer ? longer : next;
    }
    if (open) patterns.push_back(*open);
  }
  return patterns;
}

ScaledRow lay_out_fill(const FillPattern& pattern, std::span<const ScaledLoop> given) {
  std::vector<ScaledLoop> periods(given.begin(), given.end());
  std::sort(periods.begin(), periods.end(), [](const ScaledLoop& a, const ScaledLoop& b) {
    return std::tie(a.stride_bits, a.dim) < std::tie(b.stride_bits, b.dim);
  });
  ScaledRow view;
  view.rank = pattern.rank;
  view.offset_bits = static_cast<std::int64_t>(pattern.offset) * 8;
  view.element_bits = static_cast<std::int64_t>(pattern.bytes) * 8;
  std::vector<ScaledLoop>& digits = view.loops;  // innermost first, until the end
  for (const ScaledLoop& period : periods) {
    if (period.stride_bits <= 0) continue;
    const std::int64_t below = digits.empty() ? 1 : digits.back().stride_bits;
    std::int64_t& left = digits.empty() ? view.element_bits : digits.back().length;
    const std::int64_t step = period.stride_bits / below;
    // A digit counts up to the next period, if the stretch is that long.
    if ((!digits.empty() && step == 1) || period.stride_bits % below != 0 || left % step != 0)
      continue;
    const std::int64_t length = left / step;
    left = step;
    digits.push_back({period.dim, length, period.stride_bits});
  }
  if (pattern.repeats > 1) {
    ScaledLoop outer{kTensorLoop, static_cast<std::int64_t>(pattern.repeats),
                     static_cast<std::int64_t>(pattern.spacing) * 8};
    for (const ScaledLoop& period : periods)
      if (period.stride_bits == outer.stride_bits) outer.dim = period.dim;
    digits.push_back(outer);
  }
  std::reverse(digits.begin(), digits.end());
  return view;
}

void write_fill(const FillPattern& pattern, const ScaledRow& view, PlanTables& tables) {
  std::vector<ScaledLoop> loops = view.loops;
  std::int64_t run = view.element_bits;
  while (!loops.empty() && (loops.back().length == 1 || loops.back().stride_bits == run)) {
    run *= loops.back().length;
    loops.pop_back();
  }
  std::vector<std::int64_t> offsets{view.offset_bits};
  for (const ScaledLoop& loop : loops) {
    std::vector<std::int64_t> all;
    for (const std::int64_t offset : offsets)
      for (std::int64_t i = 0; i < loop.length; ++i) all.push_back(offset + i * loop.stride_bits);
    offsets = std::move(all);
  }
  for (const std::int64_t offset : offsets) {
    tables.fill_buffer.push_back(pattern.buffer);
    tables.fill_buffer_count.push_back(pattern.count);
    tables.fill_offset.push_back(static_cast<std::uint64_t>(offset / 8));
    tables.fill_bytes.push_back(static_cast<std::uint64_t>(run / 8));
  }
}

}  // namespace transload
