#include "planner/strategy/awex.h"

#include "planner/strategy/constants.h"
#include "planner/strategy/route_list.h"

namespace transload {

RouteSet assign_awex(const Job& job, const PlanningInput& input, const StrategyChoice&,
                     const Fabric& fabric) {
  RouteList list(fabric);
  const RankSets& sets = job.problem.sets;
  for (std::uint32_t c = 0; c < input.demand.classes.size(); ++c) {
    const DemandClass& demand_class = input.demand.classes[c];
    const std::span<const Rank> holders = sets.of(demand_class.holders);
    const std::span<const Rank> receivers = sets.of(demand_class.receivers);
    for (std::size_t i = 0; i < receivers.size(); ++i) {
      const Rank source = holders[i % holders.size()];
      if (source == receivers[i])
        list.add_local(c, source);
      else
        list.add(c, 0, demand_class.bytes, source, receivers[i]);
    }
  }
  return list.take();
}

Plan plan_awex(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
               PlanHeader header) {
  ConstantFile file("awex");
  const auto window = static_cast<std::uint32_t>(file.read("in_flight").integer_in(1, 4096));
  header.assumptions = file.finish();
  return plan_routes(job, input, strategy, std::move(header), assign_awex, window);
}

}  // namespace transload
