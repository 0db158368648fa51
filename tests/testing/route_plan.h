// Plans from hand-made or random route sets, past every strategy's own assignment.
#pragma once

#include "planner/strategy/emit.h"
#include "planner/strategy/shard_rows.h"
#include "planner/strategy/strategy.h"

namespace transload::testing {

// Routes made by `make(problem, demand, fabric)`, cut, ordered, staged and sealed like any
// strategy's.
template <class MakeRoutes>
Plan plan_of_routes(const Job& job, const EmitOptions& options, MakeRoutes&& make) {
  const PlanningInput input = prepare(job);
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem);
  add_tensors_and_shards(builder, job.problem);
  const RouteSet routes = make(job.problem, input.demand, fabric);
  const EmitResult result =
      emit_routes(builder, job.problem, input.demand, fabric, routes, options);
  PlanHeader header;
  header.strategy = "transload";
  header.job_name = job.name;
  header.topology_name = job.topology.name;
  header.planned_for = "host";
  header.discipline = options.discipline;
  header.demand_classes = input.demand.classes.size();
  header.window = result.window;
  header.colours_per_group = result.colours;
  header.operations_per_group = options.operations_per_group;
  header.chunk_bytes = static_cast<std::uint64_t>(result.chunk_bytes);
  return builder.seal(header);
}

}  // namespace transload::testing
