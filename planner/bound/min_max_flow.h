// Fractional restricted assignment that minimises the most loaded port.
//
// Demand i (w_i bytes) may be split over the ports of its set N(i); port p carries E_p bytes/s. The
// least time is  T* = max over sets Y of demands  w(Y) / E(N(Y))  (Hall's condition, by max-flow
// min-cut). Dinkelbach's method finds it: guess T, send demands through ports of capacity E_p * T;
// if not all flows, the demands that the residual graph still reaches from the source are a
// violated Y, and T = w(Y) / E(N(Y)) is the next, strictly larger guess. A few iterations of
// Boost's push-relabel.
#pragma once

#include <cstdint>
#include <vector>

namespace transload {

struct FlowDemand {
  std::int64_t bytes = 0;
  std::vector<std::uint32_t> ports;  // never empty where bytes > 0
};

// T* as the exact ratio bytes / rate of the tight set, and which ports it uses.
struct MinMaxCut {
  std::int64_t bytes = 0;
  std::int64_t rate = 1;  // bytes/s of the tight set's ports together
  std::vector<std::uint32_t> ports;
};

// `rates`: bytes/s per port, all positive. Without demands the result is 0 bytes over rate 1.
MinMaxCut min_max_cut(const std::vector<FlowDemand>& demands,
                      const std::vector<std::int64_t>& rates);

}  // namespace transload
