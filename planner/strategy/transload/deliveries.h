// What the network has to do, before anybody decides how: which class must enter which NVLink
// domain, and who wants it there. Internal to the strategy `transload`.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/demand/demand.h"
#include "planner/strategy/routes.h"

namespace transload {

// A class that must enter a domain, once: nobody there holds it.
struct Delivery {
  std::uint32_t demand_class = 0;
  std::int32_t domain = 0;
  std::uint32_t receivers = 0;  // id in `Deliveries::sets`: who wants it, all of the domain
};

// A class that a domain holds and other ranks of the domain want: NVLink alone serves them.
struct InsideDelivery {
  std::uint32_t demand_class = 0;
  std::uint32_t near = 0;       // id in `Deliveries::sets`: its holders in the domain
  std::uint32_t receivers = 0;  // ditto: who wants it there and does not hold it
};

struct Deliveries {
  std::vector<Delivery> network;         // by class, then by domain
  std::vector<std::size_t> class_first;  // classes + 1, into `network`
  std::vector<InsideDelivery> inside;
  std::vector<LocalRoute> locals;
  RankSets sets;

  std::size_t copies(std::uint32_t demand_class) const {
    return class_first[demand_class + 1] - class_first[demand_class];
  }
};

Deliveries make_deliveries(const ReshardProblem& problem, const Demand& demand,
                           const Fabric& fabric);

}  // namespace transload
