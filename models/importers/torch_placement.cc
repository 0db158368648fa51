#include "models/importers/torch_placement.h"

#include <algorithm>
#include <charconv>
#include <regex>

namespace transload::importing {
namespace {

// Elements low..high of the intervals' elements, counted through.
Intervals sub_range(const Intervals& intervals, std::int64_t low, std::int64_t high) {
  Intervals result;
  std::int64_t at = 0;
  for (const auto& [begin, end] : intervals) {
    const std::int64_t length = end - begin;
    const std::int64_t from = std::max(low - at, std::int64_t{0});
    const std::int64_t to = std::min(high - at, length);
    if (from < to) {
      if (!result.empty() && result.back()[1] == begin + from)
        result.back()[1] = begin + to;
      else
        result.push_back({begin + from, begin + to});
    }
    at += length;
  }
  return result;
}

// Part `index` of `ways` by the ceil rule (torch.chunk).
Intervals chunk(const Intervals& intervals, std::int64_t ways, std::int64_t index) {
  const std::int64_t length = total_length(intervals);
  const std::int64_t part = (length + ways - 1) / ways;
  return sub_range(intervals, std::min(index * part, length), std::min((index + 1) * part, length));
}

}  // namespace

std::int64_t total_length(const Intervals& intervals) {
  std::int64_t length = 0;
  for (const auto& [begin, end] : intervals) length += end - begin;
  return length;
}

std::optional<AxisPlacement> parse_torch_placement(const std::string& text, std::size_t dims) {
  static const std::regex replicate(R"(R|Replicate\(\))");
  static const std::regex shard(R"((?:S|Shard)\((?:dim=)?(-?\d{1,3})\))");
  static const std::regex strided(
      R"((?:_S|_StridedShard)\((?:dim=)?(-?\d{1,3}), ?(?:split_factor=|sf=)?(\d{1,9})\))");
  if (text.size() > 200) return std::nullopt;
  AxisPlacement placement;
  std::smatch match;
  if (std::regex_match(text, replicate)) return placement;
  if (std::regex_match(text, match, strided))
    placement.split_factor = std::stoll(match[2]);
  else if (!std::regex_match(text, match, shard))
    return std::nullopt;
  placement.dim = std::stoi(match[1]);
  const int count = static_cast<int>(dims);
  if (placement.dim < 0) placement.dim += count;
  if (placement.dim < 0 || placement.dim >= count || placement.split_factor < 1)
    return std::nullopt;
  return placement;
}

Intervals held_part(std::int64_t length, int dim, const std::vector<AxisPlacement>& placements,
                    const std::vector<MeshAxis>& mesh,
                    const std::vector<std::int64_t>& coordinate) {
  Intervals held;
  if (length > 0) held.push_back({0, length});
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    const AxisPlacement& placement = placements[axis];
    if (placement.dim != dim) continue;
    Intervals next;
    // By the ceil rule, pieces past the number of elements are empty.
    const std::int64_t pieces = std::min(placement.split_factor, total_length(held));
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const Intervals part = chunk(held, placement.split_factor, piece);
      for (const auto& interval : chunk(part, mesh[axis].size, coordinate[axis]))
        next.push_back(interval);
    }
    held.clear();
    for (const auto& interval : next) {
      if (!held.empty() && held.back()[1] == interval[0])
        held.back()[1] = interval[1];
      else
        held.push_back(interval);
    }
  }
  return held;
}

}  // namespace transload::importing
