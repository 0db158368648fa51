// A flow from demands through ports of fixed capacity, opened in stages.
//
// Demand i may send through the ports that it has edges to; port p carries at most `capacity[p]`
// bytes. `run` sends as much as fits, on top of what earlier runs sent: a stage adds supply or
// edges and runs again, so what an earlier stage sent stays sent (through other ports perhaps), and
// later supply only takes what is left. An augmenting-path algorithm
// (Boost's Boykov-Kolmogorov) on the residual graph; push-relabel cannot start from one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace transload {

class CapacityFlow {
 public:
  CapacityFlow(std::size_t demands, const std::vector<std::int64_t>& port_capacity);
  ~CapacityFlow();
  CapacityFlow(const CapacityFlow&) = delete;
  CapacityFlow& operator=(const CapacityFlow&) = delete;

  void add_supply(std::size_t demand, std::int64_t bytes);
  // The demand may send through the port. Edges are numbered from 0 in the order in which they are
  // added.
  std::size_t add_edge(std::size_t demand, std::size_t port);
  // Returns what is sent now, all stages together.
  std::int64_t run();
  std::int64_t sent(std::size_t demand) const;
  std::int64_t through(std::size_t edge) const;

 private:
  struct Network;
  std::unique_ptr<Network> network_;
};

}  // namespace transload
