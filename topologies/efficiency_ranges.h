// Between which the efficiencies of a topology lie, for predictions that come as ranges.
#pragma once

#include <string>
#include <vector>

#include "topologies/topology.h"

namespace transload {

// It holds for the links of `kind` whose efficiency is `likely_ppm`.
struct EfficiencyRange {
  std::string kind;  // "nic" (and the switches above), "nvlink", "copy"
  std::int64_t low_ppm = 0;
  std::int64_t likely_ppm = 0;
  std::int64_t high_ppm = 0;
  friend bool operator==(const EfficiencyRange&, const EfficiencyRange&) = default;
};

// The ranges that the topology's constants state ("efficiency.nic", ".low", ".high"), part by part
// of a joined one, equal ones once; a group of nodes with an efficiency of its own has none.
std::vector<EfficiencyRange> efficiency_ranges(const Topology& topology);

}  // namespace transload
