// What a bandwidth that falls with the number of nodes says about the core of a fabric.
//
// Where each pair of neighbours has a path of its own, a neighbour exchange is as fast on 32 nodes
// as on 2. Where paths share links of the core, it falls: by whole factors where static routes put
// 2 or 3 flows on one link, and in proportion to the nodes where all share one link.
#pragma once

#include <cstdint>
#include <vector>

namespace transload {

struct ScalingPoint {
  std::int32_t nodes = 0;
  std::int64_t rate = 0;  // bytes/s per GPU
};

// For each point how many flows share a link, if a flow that shares none has the best rate: best /
// rate, rounded to the nearest whole number. 0 for a rate of 0.
std::vector<std::int64_t> flows_per_link(const std::vector<ScalingPoint>& points);

// Whether best / flows is within `tolerance_ppm` (parts per million of the measured rate) of every
// point.
bool shared_links_fit(const std::vector<ScalingPoint>& points,
                      const std::vector<std::int64_t>& flows, std::int64_t tolerance_ppm);

// Whether one capacity exists such that capacity / nodes is within `tolerance_ppm` of every point:
// one link of the core that all nodes share.
bool one_core_link_fits(const std::vector<ScalingPoint>& points, std::int64_t tolerance_ppm);

}  // namespace transload
