// What must cross a line drawn through one NVLink domain. Internal to planner/bound.
//
// Some GPUs of a domain, X, take in what nobody among them holds through their NICs and through
// NVLink from the rest of the domain, and that brings no more than the rest can send. So one GPU
// that holds what seven neighbours want pieces of keeps them waiting for its NVLink, though none of
// the seven ports is busy. Likewise for what only X holds and others want.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "planner/demand/demand.h"
#include "topologies/topology.h"

namespace transload {

// Capacities of ports, bytes/s, one direction.
struct PartRates {
  const std::vector<std::int64_t>& nvlink;  // by rank
  const std::vector<std::int64_t>& nic;     // by NIC of the topology
};

struct PartCut {
  std::vector<Rank> ranks;  // X; empty: no bytes cross any such line
  std::int64_t bytes = 0;
  std::int64_t rate = 0;
};

class DomainParts {
 public:
  // `ranks`: those whose ports count, ascending.
  DomainParts(const ReshardProblem& problem, const Demand& demand, const Topology& topology,
              std::span<const Rank> ranks);

  // The slowest cut into a part, and out of one. All parts of a domain of up to eight ranks are
  // tried, in larger ones those that hold or want some byte together; domains of more than 128
  // ranks are left out.
  PartCut in(const PartRates& rates) const;
  PartCut out(const PartRates& rates) const;

 private:
  using Members = unsigned __int128;  // of a domain's ranks, by their place in it

  struct Traffic {
    Members holders = 0;  // of the domain
    Members receivers = 0;
    bool held_elsewhere = false;
    bool wanted_elsewhere = false;
    auto operator<=>(const Traffic&) const = default;
  };
  struct Domain {
    std::vector<Rank> ranks;
    std::vector<std::pair<Traffic, std::int64_t>> bytes;
    std::vector<Members> parts;
  };

  void find_parts(Domain& domain) const;
  std::int64_t nic_rate(const Domain& domain, Members part, const PartRates& rates) const;
  // Of the ranks that are in the part, or not in it.
  std::int64_t nvlink_rate(const Domain& domain, Members part, const PartRates& rates) const;
  std::vector<Rank> ranks_of(const Domain& domain, Members part) const;
  template <class BytesOf>
  PartCut slowest(const PartRates& rates, BytesOf&& bytes_of) const;

  const Topology& topology_;
  std::vector<Domain> domains_;
};

}  // namespace transload
