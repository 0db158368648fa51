// What no schedule can beat: bytes that must enter a set of GPUs over the capacity into it.
//
// Family (docs/bounds.md; ties go to the first): `dst_gpu` one GPU; `domain_in` one NVLink domain,
// every byte once; `pod_in` and `pod_out` what hangs below narrow up-links, or a site; `src_once`
// what only some sources hold must leave them once (one GPU, one domain, or the worst set of
// domains by min-cut); `rail_in` what NICs that meet only rail by rail let through; `volume` every
// byte that enters a domain leaves some NIC of the job; `nvlink` a domain's needs over its NICs and
// NVLink ports together; `domain_part` what some GPUs of a domain get from
// its other GPUs and through NICs; `hbm` what a GPU's memory must write and copy. `src_copies` is
// conditional: it holds where receivers never relay, and is never the binding one. Only ports of
// the job's ranks and its helpers count.
#pragma once

#include <cstdint>
#include <span>
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
  std::int64_t bytes = 0;    // that must pass the port
  std::int64_t rate = 0;     // of the port, bytes/s
};

struct BoundReport {
  std::vector<Bound> bounds;  // at achieved rates, in the family's order
  std::string binding;        // name of the largest unconditional one
  std::int64_t bound_ps = 0;
  std::int64_t bound_line_rate_ps = 0;
};

// `helpers`: ranks beside the job's own whose ports count (options.helpers).
BoundReport compute_bounds(const ReshardProblem& problem, const Demand& demand,
                           const Topology& topology, std::span<const Rank> helpers = {});

}  // namespace transload
