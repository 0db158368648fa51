#include "planner/strategy/strategy.h"

#include <algorithm>
#include <array>

#include "common/check.h"
#include "common/units.h"
#include "planner/schedule/access.h"
#include "planner/strategy/emit.h"
#include "planner/strategy/gather_broadcast.h"
#include "planner/strategy/routes.h"
#include "planner/strategy/shard_rows.h"

namespace transload {
namespace {

constexpr std::array<StrategyInfo, 3> kStrategies = {{
    {"transload", "v0",
     "one copy per NVLink domain from the least loaded holders, fan-out over NVLink",
     "window of W chunks per port, or groups of G colours"},
    {"p2p", "", "every receiver gets its own copy from the holder with the fewest bytes assigned",
     "at most 16 operations posted per NIC"},
    {"gather-broadcast", "",
     "trainers gather full tensors, one root broadcasts packed buckets to all",
     "two buckets in flight, broadcasts in order on one communicator"},
}};

// Perplexity's engine posts without admission; 16 per NIC is our stated window for it.
constexpr std::uint32_t kP2pWindow = 16;
constexpr std::uint32_t kDefaultWindow = 8;
constexpr std::uint32_t kDefaultColours = 16;
// Granularity at which load is balanced over several holders.
constexpr std::int64_t kPieceBytes = std::int64_t{32} << 20;

PlanHeader base_header(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                       Discipline discipline) {
  const StrategyInfo& info = strategy_info(strategy.name);
  PlanHeader header;
  header.strategy = strategy.name;
  header.strategy_notes = (info.version.empty() ? "" : std::string(info.version) + ", ") +
                          std::string(info.in_flight_rule);
  header.job_name = job.name;
  header.job_text = job.text;
  header.topology_name = job.topology.name;
  header.planned_for = executor_of(job);
  header.discipline = discipline;
  header.demand_classes = input.demand.classes.size();
  header.bound_s = to_seconds(input.bounds.bound_ps);
  header.bound_line_rate_s = to_seconds(input.bounds.bound_line_rate_ps);
  header.bound_name = input.bounds.binding;
  return header;
}

EmitOptions emit_options(const Job& job, const StrategyChoice& strategy, Discipline discipline) {
  EmitOptions options;
  options.discipline = discipline;
  options.window =
      strategy.name == "p2p" ? kP2pWindow : job.options.window.value_or(kDefaultWindow);
  options.colours = job.options.colours.value_or(kDefaultColours);
  options.chunk_bytes = job.options.chunk_bytes.value_or(0);
  if (job.options.staging_bytes) options.staging_bytes = *job.options.staging_bytes;
  return options;
}

Plan plan_routes(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                 Discipline discipline) {
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem);
  add_tensors_and_shards(builder, job.problem);
  const RouteSet routes = strategy.name == "p2p"
                              ? assign_p2p(job.problem, input.demand, fabric, kPieceBytes)
                              : assign_transload(job.problem, input.demand, fabric, kPieceBytes);
  const EmitOptions options = emit_options(job, strategy, discipline);
  const EmitResult result =
      emit_routes(builder, job.problem, input.demand, fabric, routes, options);
  PlanHeader header = base_header(job, input, strategy, discipline);
  header.window = result.window;
  header.colours_per_group = result.colours;
  header.operations_per_group = options.operations_per_group;
  header.chunk_bytes = static_cast<std::uint64_t>(result.chunk_bytes);
  return builder.seal(header);
}

}  // namespace

std::span<const StrategyInfo> strategies() { return kStrategies; }

const StrategyInfo& strategy_info(std::string_view name) {
  const auto found = std::find_if(kStrategies.begin(), kStrategies.end(),
                                  [&](const StrategyInfo& info) { return info.name == name; });
  TRANSLOAD_CHECK(found != kStrategies.end(), "strategy names are validated when they are read");
  return *found;
}

PlanningInput prepare(const Job& job) {
  PlanningInput input;
  input.demand = make_demand(job.problem);
  input.bounds = compute_bounds(job.problem, input.demand, job.topology);
  return input;
}

std::string executor_of(const Job& job) {
  if (job.options.executor != "auto") return job.options.executor;
  const bool gpus = std::any_of(job.topology.gpu_models.begin(), job.topology.gpu_models.end(),
                                [](const GpuModel& model) { return model.hbm_rate > 0; });
  return gpus ? "nccl" : "host";
}

Discipline discipline_of(const Job& job) {
  if (job.options.discipline) return *job.options.discipline;
  return executor_of(job) == "nccl" ? Discipline::kGroups : Discipline::kWindows;
}

Plan make_plan(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
               Discipline discipline) {
  if (strategy.name == "gather-broadcast")
    return plan_gather_broadcast(job, input, strategy,
                                 base_header(job, input, strategy, discipline));
  return plan_routes(job, input, strategy, discipline);
}

Plan make_plan(const Job& job) {
  return make_plan(job, prepare(job), job.strategy, discipline_of(job));
}

double ideal_seconds(const Plan& plan) {
  const PlanTotals totals = plan_totals(plan);
  std::vector<double> link_s(plan.link_kind.size(), 0);
  for (std::size_t port = 0; port < plan.ports(); ++port) {
    const std::uint32_t link = plan.port_link[port];
    const std::int64_t rate = link_achieved_rate(plan, link);
    // A copy reads and writes its bytes.
    const double factor = plan.link_kind[link] == static_cast<std::uint8_t>(LinkKind::kHbm) ? 2 : 1;
    if (rate > 0)
      link_s[link] +=
          factor * static_cast<double>(totals.port_bytes[port]) / static_cast<double>(rate);
  }
  for (OpId op = 0; op < plan.operations(); ++op)
    for_each_path_link(plan, op, [&](std::uint32_t link) {
      if (const std::int64_t rate = link_achieved_rate(plan, link); rate > 0)
        link_s[link] += static_cast<double>(plan.op_bytes[op]) / static_cast<double>(rate);
    });
  return link_s.empty() ? 0 : *std::max_element(link_s.begin(), link_s.end());
}

}  // namespace transload
