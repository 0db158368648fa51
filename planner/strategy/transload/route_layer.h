// Lays routes one after the other and keeps what every port carries by now: what all assignments of
// `transload` do alike, whoever decides which ports share a class. Internal to the strategy.
#pragma once

#include <cstdint>

#include "planner/strategy/routes.h"
#include "planner/strategy/transload/deliveries.h"
#include "planner/strategy/transload/port_shares.h"

namespace transload {

class RouteLayer {
 public:
  // All must outlive it.
  RouteLayer(const ReshardProblem& problem, const Deliveries& deliveries, const Fabric& fabric)
      : problem_(problem), deliveries_(deliveries), fabric_(fabric), loads_(fabric) {}

  RouteSet& set() { return set_; }
  const PortLoads& loads() const { return loads_; }

  // Adds the route and returns its number.
  std::uint32_t add(const Route& route);
  // Where `rank`, which is to send the stretch's class and bytes, is none of the holders, a holder
  // of its domain hands it them over NVLink: that route's number, else kNoRoute.
  std::uint32_t bring_to(Route stretch, std::uint32_t holder_set, Rank rank);
  // Adds the route with its end at `to`, which hands on to all others of the receivers.
  std::uint32_t land(Route route, std::uint32_t receiver_set, const PortShare& to);

 private:
  const ReshardProblem& problem_;
  const Deliveries& deliveries_;
  const Fabric& fabric_;
  PortLoads loads_;
  RouteSet set_;
};

}  // namespace transload
