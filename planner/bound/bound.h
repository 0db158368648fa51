// What no schedule can beat: bytes that must enter a set of GPUs over the capacity into it.
//
// Family (theory as in docs/bounds.md; ties go to the first): `dst_gpu` one GPU; `domain_in` one
// NVLink domain, every byte once; `src_once` what only some source domains hold must leave them
// once (the worst set of domains, by min-cut); `volume` every byte that enters a domain leaves some
// NIC of the job; `nvlink` a domain's needs over its NICs and NVLink ports together. Only ports of
// the job's ranks count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/demand/demand.h"
#include "topologies/topology.h"

namespace transload {

struct Bound {
  std::string name;
  std::string port;  // which set of ports, in words
  std::int64_t ps = 0;
  bool conditional = false;  // holds only under a stated assumption
};

struct BoundReport {
  std::vector<Bound> bounds;  // at achieved rates, in the family's order
  std::string binding;        // name of the largest
  std::int64_t bound_ps = 0;
  std::int64_t bound_line_rate_ps = 0;
};

BoundReport compute_bounds(const ReshardProblem& problem, const Demand& demand,
                           const Topology& topology);

}  // namespace transload
