#include "planner/strategy/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/units.h"
#include "planner/schedule/access.h"
#include "planner/strategy/helper_ranks.h"
#include "planner/strategy/registry.h"

namespace transload {
namespace {

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

}  // namespace

std::span<const StrategyInfo> strategies() {
  static const std::vector<StrategyInfo> all = [] {
    std::vector<StrategyInfo> infos;
    for (const StrategyRow& row : strategy_rows()) infos.push_back(row.info);
    return infos;
  }();
  return all;
}

const StrategyInfo& strategy_info(std::string_view name) { return strategy_row(name).info; }

std::vector<Unsupported> refusals(const Job& job, const PlanningInput& input,
                                  const StrategyChoice& strategy) {
  const StrategyRow& row = strategy_row(strategy.name);
  if (!job.problem.conversions.empty() && row.conversions != Conversions::kPlanned) {
    const ConvertedTensors& entry = job.problem.conversions.front();
    return {{row.conversions == Conversions::kRefused
                 ? "the same dtype on both sides"
                 : "the same dtype on both sides (its own conversion is not planned yet)",
             fmt::format("{} to {}", dtype_name(entry.from), entry.to), entry.tensor}};
  }
  return row.refuse == nullptr ? std::vector<Unsupported>{} : row.refuse(job, input, strategy);
}

PlanningInput prepare(const Job& job) {
  PlanningInput input;
  input.demand = make_demand(job.problem);
  const std::vector<Rank> helpers = helper_ranks(job);
  input.bounds =
      compute_bounds(job.problem, narrowest(job.problem, input.demand), job.topology, helpers);
  input.wire_bound_ps = input.bounds.bound_ps;
  if (std::any_of(
          job.problem.conversions.begin(), job.problem.conversions.end(),
          [](const ConvertedTensors& entry) { return entry.making == Making::kAtDestination; }))
    input.wire_bound_ps = compute_bounds(job.problem, input.demand, job.topology, helpers).bound_ps;
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
  std::vector<Unsupported> limits = refusals(job, input, strategy);
  if (!limits.empty()) throw UnsupportedError(strategy.name, std::move(limits));
  return strategy_row(strategy.name)
      .plan(job, input, strategy, base_header(job, input, strategy, discipline));
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
  for (OpId op = 0; op < plan.operations(); ++op) {
    if (op_kind(plan, op) == OpKind::kConvert) {
      // Counted above as if it read what it writes.
      const std::uint32_t link = plan.port_link[static_cast<std::size_t>(plan.op_out_port[op])];
      if (const std::int64_t rate = link_achieved_rate(plan, link); rate > 0)
        link_s[link] +=
            (static_cast<double>(plan.op_read_bytes[op]) - static_cast<double>(plan.op_bytes[op])) /
            static_cast<double>(rate);
    }
    for_each_path_link(plan, op, [&](std::uint32_t link) {
      if (const std::int64_t rate = link_achieved_rate(plan, link); rate > 0)
        link_s[link] += static_cast<double>(plan.op_bytes[op]) / static_cast<double>(rate);
    });
  }
  return link_s.empty() ? 0 : *std::max_element(link_s.begin(), link_s.end());
}

}  // namespace transload
