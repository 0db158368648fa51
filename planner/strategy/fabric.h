// The job's ranks, links and ports as rows of a plan, and where to find a rank's ports again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/layout/problem.h"
#include "planner/schedule/builder.h"
#include "topologies/topology.h"

namespace transload {

struct RankPorts {
  std::vector<std::int32_t> nic_out;  // one per NIC of the GPU, nearest first
  std::vector<std::int32_t> nic_in;
  std::int32_t nvlink_out = kNone;
  std::int32_t nvlink_in = kNone;
  std::int32_t pack = kNone;
  std::int32_t unpack = kNone;
};

struct Fabric {
  std::vector<RankPorts> ranks;         // by rank; empty for ranks that take no part
  std::vector<std::int32_t> domain;     // by rank
  std::vector<std::int32_t> node;       // by rank
  std::vector<std::int64_t> port_rate;  // by port: achieved bytes/s
  // By port: NICs of one number reach each other; kNone for other ports.
  std::vector<std::int32_t> port_network;
  std::vector<std::int32_t> port_nic;  // by port: index into Topology::nics; kNone for other ports
  std::vector<std::uint32_t>
      port_units;  // by port: its rate in units of the slowest port of its kind
  std::int64_t network_overhead_ps = 0;  // latency + occupancy of one network transfer
  std::int64_t slowest_nic = 0;          // achieved bytes/s of the slowest NIC of the job
};

// Adds every GPU of the topology as a rank, and links and ports for the job's ranks and `helpers`.
// Transfers that are added to the builder later find their way through the fabric by themselves, so
// the topology has to outlive the builder. Windows are set later, by set_windows.
Fabric add_fabric(PlanBuilder& builder, const Topology& topology, const ReshardProblem& problem,
                  std::span<const Rank> helpers = {});

// Gives every port a window of `window` operations per unit.
void set_windows(PlanBuilder& builder, const Fabric& fabric, std::uint32_t window);

}  // namespace transload
