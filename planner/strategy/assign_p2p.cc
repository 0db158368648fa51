#include <algorithm>

#include "planner/strategy/routes.h"

namespace transload {
namespace {

// Ends of runs of whole tensors of at most `piece_bytes` (one tensor at least) in a class's packed
// order.
std::vector<std::int64_t> tensor_cuts(const ReshardProblem& problem,
                                      const DemandClass& demand_class, std::int64_t piece_bytes) {
  std::vector<std::int64_t> cuts;
  std::int64_t at = 0;
  std::int64_t piece = 0;
  for (const DemandSlice& slice : demand_class.slices) {
    const TensorGroup& group = problem.groups[slice.group];
    const std::int64_t tensor_bytes = slice_bytes(problem, slice) / group.count;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      if (piece > 0 && piece + tensor_bytes > piece_bytes) {
        cuts.push_back(at);
        piece = 0;
      }
      at += tensor_bytes;
      piece += tensor_bytes;
    }
  }
  cuts.push_back(at);
  return cuts;
}

}  // namespace

RouteSet assign_p2p(const ReshardProblem& problem, const Demand& demand, const Fabric& fabric,
                    std::int64_t piece_bytes) {
  RouteSet set;
  PortLoads loads(fabric);
  for (std::uint32_t c = 0; c < demand.classes.size(); ++c) {
    const DemandClass& demand_class = demand.classes[c];
    const std::span<const Rank> holders = problem.sets.of(demand_class.holders);
    // With one holder there is nothing to choose, and so nothing to cut.
    const std::vector<std::int64_t> cuts = holders.size() == 1
                                               ? std::vector{demand_class.bytes}
                                               : tensor_cuts(problem, demand_class, piece_bytes);
    for (Rank receiver : problem.sets.of(demand_class.receivers)) {
      if (std::binary_search(holders.begin(), holders.end(), receiver)) {
        set.locals.push_back({c, receiver});
        continue;
      }
      std::int64_t begin = 0;
      for (std::int64_t end : cuts) {
        const Rank source = least_loaded_holder(fabric, loads, holders, receiver);
        const PortPair ports = choose_ports(fabric, loads, source, receiver);
        loads.add(ports.out, end - begin);
        loads.add(ports.in, end - begin);
        // Neighbouring pieces of one holder travel as one route.
        Route* last = set.routes.empty() ? nullptr : &set.routes.back();
        if (last != nullptr && begin > 0 && last->source == source && last->landing == receiver &&
            last->out_port == ports.out && last->in_port == ports.in) {
          last->end = end;
        } else {
          set.routes.push_back({c, begin, end, source, receiver, ports.out, ports.in});
        }
        begin = end;
      }
    }
  }
  return set;
}

}  // namespace transload
