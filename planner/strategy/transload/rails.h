// Making routes fit a network that is not one wide switch: rails and planes that do not meet,
// narrow up-links, sites. Internal to the strategy `transload`.
//
// Source and landing shares (port_shares.h) balance NICs without asking which NIC reaches which.
// Where rails do not meet, a byte has to land on the rail that it left on: so it lands on another
// receiver's NIC or on a NIC that only hands on over NVLink, or NVLink brings it to the landing's
// rail before it leaves. Where up-links are narrow, it comes from a holder below the same switch
// if another way would take longer than the goal.
#pragma once

#include "planner/strategy/transload/assign.h"
#include "topologies/topology.h"

namespace transload {

// Whether every NIC reaches every other and no link between them is narrower than they are.
bool is_one_wide_switch(const Topology& topology, const Fabric& fabric);

// The same bytes into the same domains, through other ports; unchanged where the routes can pass
// as they are and no narrow link is busy beyond the goal. InputError naming two ranks where no way
// joins them.
RouteSet fit_to_network(RouteSet routes, const ReshardProblem& problem, const Demand& demand,
                        const Topology& topology, const Fabric& fabric,
                        const TransloadOptions& options);

}  // namespace transload
