#include "topologies/import/scaling.h"

#include <algorithm>

#include "common/check.h"

namespace transload {
namespace {

constexpr std::int64_t kPartsPerMillion = 1'000'000;

std::int64_t best_rate(const std::vector<ScalingPoint>& points) {
  std::int64_t best = 0;
  for (const ScalingPoint& point : points) best = std::max(best, point.rate);
  return best;
}

}  // namespace

std::vector<std::int64_t> flows_per_link(const std::vector<ScalingPoint>& points) {
  const std::int64_t best = best_rate(points);
  std::vector<std::int64_t> flows;
  flows.reserve(points.size());
  for (const ScalingPoint& point : points)
    flows.push_back(point.rate == 0 ? 0 : (best + point.rate / 2) / point.rate);
  return flows;
}

bool shared_links_fit(const std::vector<ScalingPoint>& points,
                      const std::vector<std::int64_t>& flows, std::int64_t tolerance_ppm) {
  TRANSLOAD_CHECK(points.size() == flows.size(), "one number of flows for each point");
  const __int128 best = best_rate(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (flows[i] < 1) return false;
    const __int128 rate = points[i].rate;
    // |best / flows - rate| <= rate * tolerance, without division.
    const __int128 off = best - rate * flows[i];
    if ((off < 0 ? -off : off) * kPartsPerMillion > rate * flows[i] * tolerance_ppm) return false;
  }
  return true;
}

bool one_core_link_fits(const std::vector<ScalingPoint>& points, std::int64_t tolerance_ppm) {
  // Every point allows an interval of capacities; one capacity fits where they all meet.
  __int128 low = 0;
  __int128 high = -1;
  for (const ScalingPoint& point : points) {
    const __int128 whole = static_cast<__int128>(point.rate) * point.nodes;
    const __int128 least = whole * (kPartsPerMillion - tolerance_ppm);
    const __int128 most = whole * (kPartsPerMillion + tolerance_ppm);
    low = std::max(low, least);
    high = high < 0 ? most : std::min(high, most);
  }
  return low <= high;
}

}  // namespace transload
