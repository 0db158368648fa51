// Routes: what a point-to-point strategy decides. Who sends which bytes of a demand class to whom,
// and who hands them on. How they are cut, ordered and staged is common to all strategies
// (planner/strategy/emit.h).
//
// A route without a parent leaves a holder. A route with a parent forwards what the parent landed:
// its source is the parent's landing rank, its bytes lie inside the parent's, and it may go over
// the network to another domain or over NVLink. So routes form trees, of any depth, whose root is a
// holder. A landing rank that does not want the bytes (a helper or a relay) keeps them in a slot
// only.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/demand/demand.h"
#include "planner/strategy/fabric.h"

namespace transload {

inline constexpr std::uint32_t kNoRoute = UINT32_MAX;

struct Route {
  std::uint32_t demand_class = 0;  // also the number of its bundle
  std::int64_t begin = 0;          // byte range of the class's packed order
  std::int64_t end = 0;
  Rank source = 0;
  Rank landing = 0;
  std::int32_t out_port = kNone;
  std::int32_t in_port = kNone;
  // Ranks of `RouteSet::fan_out` that the landing rank hands the whole range on to over NVLink;
  // all of them want it.
  std::uint32_t fan_out_first = 0;
  std::uint32_t fan_out_count = 0;
  std::uint32_t parent = kNoRoute;  // an earlier route of the set
  bool wanted = true;               // the landing rank wants the bytes
};

// A rank that wants what it holds.
struct LocalRoute {
  std::uint32_t demand_class = 0;
  Rank rank = 0;
};

struct RouteSet {
  std::vector<Route> routes;
  std::vector<Rank> fan_out;
  std::vector<LocalRoute> locals;
};

// Load of every port in picoseconds at its achieved rate, and the least loaded of several.
class PortLoads {
 public:
  explicit PortLoads(const Fabric& fabric) : fabric_(fabric), ps_(fabric.port_rate.size(), 0) {}
  std::int64_t of(std::int32_t port) const { return ps_[static_cast<std::size_t>(port)]; }
  void add(std::int32_t port, std::int64_t bytes);
  // The first least loaded port of a non-empty list.
  std::int32_t least(const std::vector<std::int32_t>& ports) const;

 private:
  const Fabric& fabric_;
  std::vector<std::int64_t> ps_;
};

// Picoseconds of the most loaded port, fan-out included: no schedule of the routes is shorter.
std::int64_t most_loaded_ps(const RouteSet& routes, const Fabric& fabric);

// Whether a landing is forwarded over the network.
bool forwards_over_network(const RouteSet& routes, const Fabric& fabric);

// The port of `source` that leads to `landing` (NVLink inside a domain, the less loaded NIC
// otherwise), and the port it arrives at.
struct PortPair {
  std::int32_t out = kNone;
  std::int32_t in = kNone;
};
PortPair choose_ports(const Fabric& fabric, const PortLoads& loads, Rank source, Rank landing);

// Holder whose port towards `landing` has the least load; the first of equals.
Rank least_loaded_holder(const Fabric& fabric, const PortLoads& loads,
                         std::span<const Rank> holders, Rank landing);

// Perplexity's rule (facts in docs/strategies.md): every receiver gets its own copy of every tensor
// from the holder with the fewest bytes assigned so far. `piece_bytes` bounds the run of whole
// tensors that is assigned at once.
RouteSet assign_p2p(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
                    std::int64_t piece_bytes);

}  // namespace transload
