// The SimGrid platform of a plan: one host per link, in one flat star zone.
//
// A transfer goes from the host of its out link to the host of its in link, so that its route is
// exactly those two links; a copy goes from the host of its HBM link to itself. Switches are no
// links at all: fabrics are as wide as their ports. That is exact max-min sharing of ports, nothing
// else.
#pragma once

#include <cstdint>
#include <simgrid/s4u.hpp>
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
  simgrid::s4u::Host* host_of_port(std::int32_t port) const {
    return host_of_port_[static_cast<std::size_t>(port)];
  }

 private:
  simgrid::s4u::Engine* engine_;  // never destroyed: its process ends without cleaning up
  std::vector<simgrid::s4u::Host*> host_of_port_;
};

}  // namespace transload
