#include "planner/layout/segments.h"

#include <algorithm>

#include "common/check.h"

namespace transload {

std::pair<std::int64_t, std::int64_t> split_range(std::int64_t length, std::int64_t parts,
                                                  std::int64_t index, SplitRule rule) {
  TRANSLOAD_CHECK(length >= 0 && parts > 0 && index >= 0 && index < parts, "a part of a split");
  if (rule == SplitRule::kChunk) {
    const std::int64_t chunk = (length + parts - 1) / parts;
    const std::int64_t begin = std::min(length, chunk * index);
    return {begin, std::min(length, begin + chunk)};
  }
  const std::int64_t base = length / parts;
  const std::int64_t longer = length % parts;
  const std::int64_t begin = base * index + std::min(index, longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

std::int64_t total_length(const Segments& segments) {
  std::int64_t length = 0;
  for (const Segment& segment : segments) length += segment.length();
  return length;
}

Segments take_range(const Segments& segments, std::int64_t begin, std::int64_t end) {
  const std::pair<std::int64_t, std::int64_t> range{begin, end};
  return take_ranges(segments, {&range, 1});
}

Segments take_ranges(const Segments& segments,
                     std::span<const std::pair<std::int64_t, std::int64_t>> ranges) {
  Segments taken;
  std::int64_t local = 0;
  for (const auto& [begin, end] : ranges) {
    for (const Segment& segment : segments) {
      const std::int64_t from = std::max(begin, segment.local);
      const std::int64_t to = std::min(end, segment.local + segment.length());
      if (from >= to) continue;
      const std::int64_t lo = segment.lo + (from - segment.local);
      const std::int64_t length = to - from;
      if (!taken.empty() && taken.back().hi == lo)
        taken.back().hi += length;
      else
        taken.push_back({lo, lo + length, local});
      local += length;
    }
  }
  return taken;
}

std::vector<std::pair<std::int64_t, std::int64_t>> strided_ranges(std::int64_t length,
                                                                  std::int64_t split_factor,
                                                                  std::int64_t size,
                                                                  std::int64_t index,
                                                                  StridedReading reading) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const std::int64_t piece = (length + split_factor - 1) / split_factor;
  for (std::int64_t i = 0; i < split_factor && piece * i < length; ++i) {
    const auto [begin, end] = split_range(length, split_factor, i, SplitRule::kChunk);
    // Unflattened, a short last piece counts as long as the others when it is cut.
    const std::int64_t cut = reading == StridedReading::kUnflatten ? piece : end - begin;
    const auto [low, high] = split_range(cut, size, index, SplitRule::kChunk);
    const std::int64_t from = std::min(end, begin + low);
    const std::int64_t to = std::min(end, begin + high);
    if (from < to) ranges.emplace_back(from, to);
  }
  return ranges;
}

Segments clip(const Segments& segments, std::int64_t extent) {
  Segments clipped;
  for (Segment segment : segments) {
    segment.hi = std::min(segment.hi, extent);
    if (segment.lo < segment.hi) clipped.push_back(segment);
  }
  return clipped;
}

}  // namespace transload
