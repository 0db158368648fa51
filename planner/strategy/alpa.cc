#include "planner/strategy/alpa.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "planner/strategy/constants.h"
#include "planner/strategy/partition.h"
#include "planner/strategy/route_list.h"

namespace transload {
namespace {

class AlpaAssigner {
 public:
  AlpaAssigner(const Job& job, const Demand& demand, const Fabric& fabric, bool broadcast)
      : problem_(job.problem),
        demand_(demand),
        fabric_(fabric),
        broadcast_(broadcast),
        list_(fabric) {}

  RouteSet run() {
    for (std::uint32_t c : largest_first()) assign(c);
    return list_.take();
  }

 private:
  // Large pieces of work first, as Alpa's load balancing takes them.
  std::vector<std::uint32_t> largest_first() const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t c = 0; c < demand_.classes.size(); ++c) order.push_back(c);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return largest_tile(a) > largest_tile(b);
    });
    return order;
  }

  std::int64_t largest_tile(std::uint32_t c) const {
    std::int64_t largest = 0;
    for (const DemandSlice& slice : demand_.classes[c].slices)
      largest = std::max(largest, tile_bytes(slice));
    return largest;
  }

  std::int64_t tile_bytes(const DemandSlice& slice) const {
    return slice_bytes(problem_, slice) / problem_.groups[slice.group].count;
  }

  void assign(std::uint32_t c) {
    const DemandClass& demand_class = demand_.classes[c];
    const std::span<const Rank> holders = problem_.sets.of(demand_class.holders);
    std::vector<Rank> receivers;
    for (const Rank rank : problem_.sets.of(demand_class.receivers)) {
      if (std::binary_search(holders.begin(), holders.end(), rank))
        list_.add_local(c, rank);
      else
        receivers.push_back(rank);
    }
    if (receivers.empty()) return;
    // Runs of tiles with one sender travel together.
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Rank sender = holders.front();
    for (const DemandSlice& slice : demand_class.slices) {
      const std::int64_t bytes = tile_bytes(slice);
      for (std::uint32_t i = 0; i < problem_.groups[slice.group].count; ++i) {
        const Rank next = least_sent(holders);
        if (next != sender && end > begin) {
          send(c, begin, end, sender, receivers);
          begin = end;
        }
        sender = next;
        sent_[host(sender)] += bytes * copies(receivers);
        end += bytes;
      }
    }
    if (end > begin) send(c, begin, end, sender, receivers);
  }

  // Copies that leave the sender's host.
  std::int64_t copies(const std::vector<Rank>& receivers) const {
    return broadcast_ ? 1 : static_cast<std::int64_t>(receivers.size());
  }

  Rank least_sent(std::span<const Rank> holders) {
    Rank best = holders.front();
    for (const Rank rank : holders)
      if (sent_[host(rank)] < sent_[host(best)]) best = rank;
    return best;
  }

  void send(std::uint32_t c, std::int64_t begin, std::int64_t end, Rank sender,
            const std::vector<Rank>& receivers) {
    if (!broadcast_) {
      for (const Rank receiver : receivers) list_.add(c, begin, end, sender, receiver);
      return;
    }
    // From host to host over the network, inside each over NVLink.
    std::map<std::int32_t, std::vector<Rank>> hosts;
    for (const Rank receiver : receivers) hosts[host(receiver)].push_back(receiver);
    std::uint32_t parent = kNoRoute;
    Rank from = sender;
    if (const auto home = hosts.find(host(sender)); home != hosts.end()) {
      for (const Rank receiver : home->second)
        list_.add_route(c, begin, end, sender, receiver, kNoRoute);
      hosts.erase(home);
    }
    for (const auto& [number, ranks] : hosts) {
      const Rank landing = list_.least_loaded(ranks);
      parent = list_.add_route(c, begin, end, from, landing, parent);
      for (const Rank receiver : ranks)
        if (receiver != landing) list_.add_route(c, begin, end, landing, receiver, parent);
      from = landing;
    }
  }

  std::int32_t host(Rank rank) const { return fabric_.node[static_cast<std::size_t>(rank)]; }

  const ReshardProblem& problem_;
  const Demand& demand_;
  const Fabric& fabric_;
  bool broadcast_;
  RouteList list_;
  std::map<std::int32_t, std::int64_t> sent_;  // by host: bytes
};

}  // namespace

std::vector<Unsupported> refuse_alpa(const Job& job, const PlanningInput&, const StrategyChoice&) {
  RefusalList list;
  const ReshardProblem& problem = job.problem;
  for (const TensorGroup& group : problem.groups)
    for (const bool source : {true, false})
      for (const CutDimension& cut :
           cut_dimensions(problem.layouts[source ? group.source : group.destination]))
        if (!cut.even)
          list.add("even tiles",
                   fmt::format("uneven parts of {} along dimension {} on the {}",
                               group.shape[cut.dim], cut.dim, source ? "source" : "destination"),
                   problem.names[group.first]);
  return list.take();
}

RouteSet assign_alpa(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                     const Fabric& fabric) {
  return AlpaAssigner(job, input.demand, fabric, strategy.mode != "send-recv").run();
}

Plan plan_alpa(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
               PlanHeader header) {
  ConstantFile file("alpa");
  const auto window = static_cast<std::uint32_t>(file.read("in_flight").integer_in(1, 4096));
  header.assumptions = file.finish();
  return plan_routes(job, input, strategy, std::move(header), assign_alpa, window);
}

}  // namespace transload
