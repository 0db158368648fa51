// How coarse the replay's clock is: events closer together than this are handled as one.
//
// Dense plans have thousands of flows that share ports, and every event solves all of them again
// (docs/simulator.md); handling near events together is what makes such plans
// affordable. The price is a bias: an operation may end early by up to the precision, half of it on
// average.
#pragma once

#include "simulator/replay/operation_cost.h"

namespace transload {

// Seconds. Not exact: `coarse_share` of the mean time that an operation is in flight on the links
// that matter, those loaded for at least half of `estimate_s`; the least of them counts. An
// operation that shares its port with the others of a window is in flight for its own time times
// the window. Where no link matters (chains of latencies, host work): that share of the median time
// of an operation alone. Exact: 1e-9 s, or less where operations are so short that this would show,
// but never below what a double can resolve at the end of a run of `estimate_s` seconds.
double replay_precision_s(const Plan& plan, const OperationCosts& costs, double estimate_s,
                          bool exact, double coarse_share);

}  // namespace transload
