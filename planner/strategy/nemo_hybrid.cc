#include "planner/strategy/nemo_hybrid.h"

#include <numeric>

#include "planner/strategy/gather_broadcast.h"
#include "planner/strategy/nemo_bulk.h"
#include "planner/strategy/shard_rows.h"

namespace transload {
namespace {

// What the bulk's operations wait for nobody after: a barrier behind all of them.
std::vector<OpId> barrier_after_all(PlanBuilder& builder, Rank rank) {
  const std::size_t operations = builder.operations();
  if (operations == 0) return {};
  OpSpec op;
  op.key = builder.next_key();
  op.kind = OpKind::kFence;
  op.role = OpRole::kBarrier;
  op.source = op.destination = rank;
  const OpId fence = builder.add_op(op);
  for (OpId before = 0; before < operations; ++before) builder.add_after(fence, before);
  return {fence};
}

}  // namespace

Plan plan_nemo_hybrid(const Job& whole, const PlanningInput&, const StrategyChoice& strategy,
                      PlanHeader header) {
  Job job = whole;
  job.problem = with_pure_groups(whole.problem);
  const ReshardProblem& problem = job.problem;
  const Demand bulk = bulk_demand(problem, make_demand(problem));
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, problem);
  add_tensors_and_shards(builder, problem);
  const EmitOptions options = emit_options(job, header.discipline, 0);
  const RouteSet routes = assign_bulk(problem, bulk, fabric);
  const EmitResult result = emit_routes(builder, problem, bulk, fabric, routes, options);
  const GatherConstants constants = load_gather_constants();
  GatherBroadcastPart misc;
  misc.packed = [&](std::uint32_t tensor) { return !is_nemo_bulk(problem.names[tensor]); };
  misc.discipline = header.discipline;
  misc.bucket_bytes = strategy.bucket_bytes;
  misc.gate = barrier_after_all(builder, problem.source_ranks.front());
  emit_gather_broadcast(builder, fabric, job, constants, misc);
  header.window = result.window;
  header.colours_per_group = result.colours;
  header.operations_per_group = 0;  // a misc bucket is one call, whatever its hops
  header.chunk_bytes = static_cast<std::uint64_t>(result.chunk_bytes);
  header.piece_bytes = static_cast<std::uint64_t>(constants.piece);
  header.assumptions = constants.assumptions;
  return builder.seal(header);
}

}  // namespace transload
