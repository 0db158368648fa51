// The SimGrid platform of a plan: one host for each end of a way, in one flat star zone.
//
// A transfer goes from the host of its out link to the host of its in link, so that its route is
// exactly those two links; a copy goes from the host of its HBM link to itself. Where a transfer
// loads further links (up-links of narrow switches, links between sites), there is a host more for
// each path behind or in front of the link: a star zone joins any two of them, and nested zones,
// which SimGrid 3.32 routes wrongly from three levels on, are not needed. Switches that are as wide
// as their ports are no links at all. That is exact max-min sharing of links, nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <simgrid/s4u.hpp>
#include <utility>
#include <vector>

// Behind s4u.hpp, whose macros it needs.
#include <simgrid/version.h>

#include "planner/schedule/access.h"

namespace transload {

// What a link does in a plan; fixes at which end of a route it lies.
enum class LinkDuty : std::uint8_t { kUnused, kSends, kReceives };

// Per link. Throws InputError where a link both sends and receives: ports of the two directions are
// two links in this model. Copies count as sending.
std::vector<LinkDuty> link_duties(const Plan& plan);

class Platform {
 public:
  // Builds engine and zone; once per process. Payload of communications counts in units, of which a
  // byte has `units_per_byte`. `precision_s` is SimGrid's precision.
  Platform(const Plan& plan, double units_per_byte, double precision_s);

  simgrid::s4u::Engine& engine() { return *engine_; }
  // Where the bytes of an operation leave and where they arrive.
  simgrid::s4u::Host* sender(const Plan& plan, OpId op) const {
    return host_at(plan.op_out_port[op], plan.op_out_path[op]);
  }
  simgrid::s4u::Host* receiver(const Plan& plan, OpId op) const {
    const std::int32_t in = plan.op_in_port[op];
    return in < 0 ? sender(plan, op) : host_at(in, plan.op_in_path[op]);
  }

 private:
  simgrid::s4u::Host* host_at(std::int32_t port, std::uint32_t path) const {
    return path == 0 ? host_of_port_[static_cast<std::size_t>(port)]
                     : host_of_path_.at({port, path});
  }

  simgrid::s4u::Engine* engine_;  // never destroyed: its process ends without cleaning up
  std::vector<simgrid::s4u::Host*> host_of_port_;
  std::map<std::pair<std::int32_t, std::uint32_t>, simgrid::s4u::Host*> host_of_path_;
};

}  // namespace transload
