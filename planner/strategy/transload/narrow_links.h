// Links of the fabric that many NICs share: narrow up-links of switches and links between sites.
// Internal to the strategy `transload`.
//
// The ports of a plan are NICs and NVLink ports; whether the links between two NICs keep up is a
// question of its own on oversubscribed fabrics and between sites. Each direction is a link.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planner/strategy/fabric.h"
#include "topologies/topology.h"

namespace transload {

class NarrowLinks {
 public:
  // Both must outlive this.
  NarrowLinks(const Topology& topology, const Fabric& fabric);

  bool any() const { return !rates_.empty(); }
  // By link: achieved bytes/s.
  const std::vector<std::int64_t>& rates() const { return rates_; }
  // The links between two NIC ports; nullptr where nothing joins the NICs. Valid until the next
  // call.
  const std::vector<std::uint32_t>* between(std::int32_t out_port, std::int32_t in_port);
  // The switch at which the NIC of a port hangs: an index into Topology::switches.
  std::int32_t leaf(std::int32_t port) const;

 private:
  struct Links {
    bool joined = false;
    std::vector<std::uint32_t> links;
  };
  Links make(std::int32_t nic_out, std::int32_t nic_in) const;
  std::int32_t nic(std::int32_t port) const;

  const Topology& topology_;
  const Fabric& fabric_;
  std::vector<std::int64_t> rates_;
  std::vector<std::uint32_t> up_;   // by switch; its down-link is the next number
  std::vector<std::uint32_t> wan_;  // by link between sites: from a to b; back is the next number
  std::map<std::pair<std::int32_t, std::int32_t>, Links> of_leaves_;
};

}  // namespace transload
