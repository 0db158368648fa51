// The same plan on links that reach other rates: at the ends of their efficiencies' ranges, beside
// other traffic, or with a NIC at a part of its rate.
//
// Nothing is planned anew: who sends what to whom stays, only how long it takes changes. A job can
// be planned for such links instead (topologies/degrade.h); what a plan file meets unprepared is
// here. The returned plan has its own digest; its bound is that of the rates it was planned for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/schedule/plan_file.h"
#include "simulator/sizing/cluster_facts.h"

namespace transload {

enum class RangeEnd : std::uint8_t { kLow, kHigh };

// Every link for which one of the ranges holds, at that end of it; the others stay.
Plan at_range_end(const Plan& plan, RangeEnd end, const std::vector<LinkRange>& ranges);

// NICs at what other traffic leaves of their achieved rate: `share` of it, from 0 up to below 1, is
// taken.
Plan with_background(const Plan& plan, double share);

// One NIC ("node3.nic2") at a share of its line rate, both ways; 0: down.
struct SlowNic {
  std::string nic;
  std::int64_t share_ppm = 0;
};

// InputError for a NIC that the plan does not have, and for one that is down and that the plan
// sends over.
Plan with_slow_nics(const Plan& plan, const std::vector<SlowNic>& nics);

}  // namespace transload
