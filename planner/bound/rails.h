// What rails let through: NICs of networks that do not meet, counted network by network. Internal
// to planner/bound.
//
// Into a set of GPUs pass, on each network, at most what the NICs inside take and what the NICs
// outside send; their sum is the capacity of the cut. It is below that of the NICs inside where
// sources sit on other rails than receivers, or on fewer. The same holds for each switch of a pod:
// its up-link, or the job's NICs below it, whichever is less.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/bound/pods.h"
#include "topologies/topology.h"

namespace transload {

class RailCapacity {
 public:
  // Only NICs of `ranks` count; achieved rates unless `line_rate`. `topology` must outlive this.
  RailCapacity(const Topology& topology, std::span<const Rank> ranks, bool line_rate);

  // Bytes/s across the border of a set of NVLink domains, either direction; `inside` by domain.
  std::int64_t across(const std::vector<bool>& inside) const;
  std::int64_t across(std::int32_t domain) const;
  // Across the border of a pod below narrow up-links; of a site: its links to others alone.
  std::int64_t across(const Pod& pod) const;

 private:
  struct CountedNic {
    std::vector<std::int32_t> domains;  // of the ranks that use it, mostly one
    std::vector<Rank> ranks;
    std::int32_t network = 0;  // dense
    std::int32_t nic = 0;      // index into Topology::nics
    std::int64_t rate = 0;
  };

  const Topology& topology_;
  bool line_rate_;
  std::vector<CountedNic> nics_;
  std::vector<std::vector<std::uint32_t>> of_domain_;  // into nics_
  std::vector<std::int64_t> total_;                    // by network
};

}  // namespace transload
