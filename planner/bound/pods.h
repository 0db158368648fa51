// Sets of GPUs that narrow links join to the rest: what hangs below switches whose up-links are
// narrower than that, and sites. Internal to planner/bound.
//
// NICs of one NVLink domain may hang below several switches (rails), and bytes that come in through
// one of them reach the others over NVLink. So a pod is a smallest set of switches of one tier that
// shares no NVLink domain with another, and its capacity is that of all their up-links together
// (docs/bounds.md, "pod").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/demand/demand.h"
#include "topologies/topology.h"

namespace transload {

struct Pod {
  std::string name;                    // "leaf0.0 to leaf0.7", "site berlin"
  std::vector<bool> has;               // by rank
  std::vector<std::int32_t> switches;  // ascending; none for a site
  std::int64_t line_rate = 0;          // bytes/s, each direction
  std::int64_t achieved_rate = 0;
};

// Switches below which some NIC has a way out that is not narrow make no pod.
std::vector<Pod> pods_of(const Topology& topology);

// Bytes that must enter a pod, and leave it: nobody inside holds them, or nobody outside.
struct PodNeeds {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
PodNeeds needs_of_pod(const ReshardProblem& problem, const Demand& demand, const Pod& pod);

}  // namespace transload
