// What must move, whatever the schedule and whatever the rates. Internal to planner/bound.
//
// Every figure is a number of bytes that must cross the border of a set of GPUs: into a GPU, into
// an NVLink domain, out of a set of source domains.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "planner/demand/demand.h"
#include "topologies/topology.h"

namespace transload {

struct Needs {
  std::vector<std::int64_t> gpu;         // by rank: bytes it wants and does not hold
  std::vector<std::int64_t> gpu_local;   // by rank: bytes it wants and holds
  std::vector<std::int64_t> gpu_out;     // by rank: bytes only it holds and others want
  std::vector<std::int64_t> distinct;    // by domain: bytes that must enter it at least once
  std::vector<std::int64_t> domain_out;  // by domain: bytes only it holds and other domains want
  // Holder domains -> bytes that some domain outside the whole source wants.
  std::map<std::vector<std::uint32_t>, std::int64_t> exclusive;
  // Holder domains -> the same bytes, once for every domain that wants and does not hold them.
  std::map<std::vector<std::uint32_t>, std::int64_t> copies;
};

Needs needs_of(const ReshardProblem& problem, const Demand& demand, const Topology& topology);

}  // namespace transload
