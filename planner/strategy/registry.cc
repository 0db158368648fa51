#include "planner/strategy/registry.h"

#include <algorithm>
#include <array>

#include "common/check.h"
#include "planner/strategy/alpa.h"
#include "planner/strategy/awex.h"
#include "planner/strategy/checkpoint_engine.h"
#include "planner/strategy/gather_broadcast.h"
#include "planner/strategy/m2n/m2n.h"
#include "planner/strategy/megatron.h"
#include "planner/strategy/nemo_hybrid.h"
#include "planner/strategy/p2p.h"
#include "planner/strategy/portfolio.h"
#include "planner/strategy/routes.h"
#include "planner/strategy/shard_rows.h"

namespace transload {
namespace {

constexpr std::uint32_t kDefaultColours = 16;

// A strategy that is a rule of routes and a window.
template <AssignRoutes assign, std::uint32_t window>
Plan planned_routes(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                    PlanHeader header) {
  return plan_routes(job, input, strategy, std::move(header), assign, window);
}

constexpr std::array kRows = {
    StrategyRow{
        {"transload", "",
         "one copy per NVLink domain through the ports that have room, relays, fan-out over NVLink",
         "window of W chunks per port, or groups of G colours"},
        nullptr,
        plan_transload,
        Conversions::kPlanned},
    StrategyRow{{"p2p", "",
                 "every receiver gets its own copy from the holder with the fewest bytes assigned",
                 "at most 16 operations posted per NIC"},
                nullptr,
                plan_p2p,
                Conversions::kPlanned},
    StrategyRow{{"gather-broadcast", "",
                 "trainers gather full tensors, one root broadcasts packed buckets to all",
                 "two buckets in flight, broadcasts in order on one communicator"},
                nullptr,
                plan_gather_broadcast,
                Conversions::kNotPlanned},
    StrategyRow{
        {"m2n", "", "one leader per shard and NVLink domain, a chain of domains, NVLink fan-out",
         "one tensor per communicator, barriers around it"},
        refuse_m2n,
        plan_m2n},
    StrategyRow{
        {"megatron", "",
         "each parameter from a source rank picked by the receiver's number, cut in lcm tiles",
         "one batch of all sends and receives; here 8 operations posted per port"},
        refuse_megatron,
        plan_megatron,
        Conversions::kNotPlanned},
    StrategyRow{{"awex", "", "inference replica i reads from training replica i mod n",
                 "a batch per peer on up to 64 streams; here 8 operations posted per port"},
                nullptr,
                plan_awex,
                Conversions::kNotPlanned},
    StrategyRow{{"checkpoint-engine", "",
                 "owners broadcast buckets of whole tensors from host memory to all engines",
                 "one broadcast at a time, the reload of the bucket before beside it; two buffers"},
                refuse_checkpoint_engine,
                plan_checkpoint_engine,
                Conversions::kNotPlanned},
    StrategyRow{{"alpa", "",
                 "each tile from the replica whose host sent least, broadcast to all that want it",
                 "one broadcast at a time per host; here 8 chunks posted per port"},
                refuse_alpa,
                plan_alpa},
    StrategyRow{{"nemo-hybrid", "",
                 "feed-forward weights shard to shard in stripes, the rest by gather-broadcast",
                 "bulk first; then two buckets in flight on one communicator"},
                refuse_nemo_hybrid,
                plan_nemo_hybrid,
                Conversions::kNotPlanned},
};

}  // namespace

std::span<const StrategyRow> strategy_rows() { return kRows; }

const StrategyRow& strategy_row(std::string_view name) {
  const auto found = std::find_if(kRows.begin(), kRows.end(),
                                  [&](const StrategyRow& row) { return row.info.name == name; });
  TRANSLOAD_CHECK(found != kRows.end(), "strategy names are validated when they are read");
  return *found;
}

EmitOptions emit_options(const Job& job, Discipline discipline, std::uint32_t window) {
  EmitOptions options;
  options.discipline = discipline;
  options.window = window > 0 ? window : job.options.window.value_or(kDefaultWindow);
  options.colours = job.options.colours.value_or(kDefaultColours);
  options.auto_window = window == 0 && !job.options.window;
  options.auto_colours = !job.options.colours;
  options.chunk_bytes = job.options.chunk_bytes.value_or(0);
  if (job.options.staging_bytes) options.staging_bytes = *job.options.staging_bytes;
  return options;
}

Plan plan_routes(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                 PlanHeader header, AssignRoutes assign, std::uint32_t window) {
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem);
  const RouteSet routes = assign(job, input, strategy, fabric);
  const EmitOptions options = emit_options(job, header.discipline, window);
  return seal_routes(builder, job, input, fabric, routes, options, std::move(header));
}

Plan seal_routes(PlanBuilder& builder, const Job& job, const PlanningInput& input,
                 const Fabric& fabric, const RouteSet& routes, const EmitOptions& options,
                 PlanHeader header) {
  add_tensors_and_shards(builder, job.problem);
  const EmitResult result =
      emit_routes(builder, job.problem, input.demand, fabric, routes, options);
  header.window = result.window;
  header.colours_per_group = result.colours;
  header.operations_per_group = options.operations_per_group;
  header.chunk_bytes = static_cast<std::uint64_t>(result.chunk_bytes);
  if (options.stream_forwards) header.piece_bytes = static_cast<std::uint64_t>(kPieceBytes);
  return builder.seal(header);
}

}  // namespace transload
