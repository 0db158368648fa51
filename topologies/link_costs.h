// Reads `efficiency:` and `latency:`, the two things that separate a data sheet from what software
// sees.
//
// Both come in layers: defaults.yaml, then the topology file, then the job. Each layer may be short
// and give one figure for all three kinds of link, or name only the kinds and figures that it
// changes.
#pragma once

#include <cstdint>
#include <vector>

#include "common/yaml.h"
#include "topologies/topology.h"

namespace transload {

// Between which an efficiency lies; 0: nothing is said about it.
struct EfficiencyEnds {
  std::int64_t low_ppm = 0;
  std::int64_t high_ppm = 0;
};

struct LinkCostSet {
  LinkCosts nic;
  LinkCosts nvlink;
  LinkCosts copy;
  LinkCosts switches;  // latency only: of each switch that a path passes beside its first
  EfficiencyEnds nic_ends;
  EfficiencyEnds nvlink_ends;
  EfficiencyEnds copy_ends;
};

// The library's defaults.yaml.
LinkCostSet default_link_costs();

// A number above 0 and at most 1, in parts per million.
std::int64_t read_efficiency_ppm(const YamlValue& value);

// `0.9`, or `{nic: 0.95, nvlink: {value: 0.82, low: 0.75, high: 0.84, source: "..."}}`. `low` and
// `high` say between which the figure lies; `likely` may stand for `value`. A layer that states an
// efficiency without them leaves none of an earlier layer's. InputError unless low <= value <=
// high.
void apply_efficiency(const YamlValue& value, LinkCostSet& costs);

// `0` or one time, for every latency and every occupancy, or
// `{nic: {latency: 15us, occupancy: 8us}, copy: {occupancy: 5us}, switch: {latency: 600ns}}`.
void apply_latency(const YamlValue& value, LinkCostSet& costs);

// "efficiency.nic = 0.95" and so on behind `prefix`, for Topology::constants; the ends of a range
// are "efficiency.nic.low" and ".high" (topologies/efficiency_ranges.h reads them there).
void add_constants(const LinkCostSet& costs, const std::string& prefix,
                   std::vector<SourcedConstant>& constants);

}  // namespace transload
