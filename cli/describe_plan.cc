#include "cli/describe_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/units.h"
#include "planner/schedule/access.h"
#include "planner/strategy/strategy.h"

namespace transload {
namespace {

bool has_side(const Plan& plan, std::size_t rank, Side side) {
  const auto first = plan.shard_side.begin();
  return std::find(first + static_cast<std::ptrdiff_t>(plan.rank_shard_first[rank]),
                   first + static_cast<std::ptrdiff_t>(plan.rank_shard_first[rank + 1]),
                   static_cast<std::uint8_t>(side)) !=
         first + static_cast<std::ptrdiff_t>(plan.rank_shard_first[rank + 1]);
}

}  // namespace

std::size_t participants(const Plan& plan) {
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (takes_part(plan, static_cast<std::int32_t>(rank))) ++count;
  return count;
}

std::size_t destinations(const Plan& plan) {
  std::size_t count = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (has_side(plan, rank, Side::kDestination)) ++count;
  return count;
}

std::size_t transfers(const Plan& plan) {
  return static_cast<std::size_t>(std::count(plan.op_kind.begin(), plan.op_kind.end(),
                                             static_cast<std::uint8_t>(OpKind::kTransfer)));
}

std::uint64_t side_bytes(const Plan& plan, std::size_t rank, Side side) {
  std::uint64_t bytes = 0;
  for (std::uint64_t i = plan.rank_buffer_first[rank]; i < plan.rank_buffer_first[rank + 1]; ++i)
    if (plan.buffer_side[i] == static_cast<std::uint8_t>(side))
      bytes += plan.buffer_bytes[i] * plan.buffer_count[i];
  return bytes;
}

std::string strategy_title(const std::string& strategy) {
  // A plan file may come from a version that has strategies which this one does not know.
  for (const StrategyInfo& info : strategies())
    if (info.name == strategy && !info.version.empty())
      return strategy + " " + std::string(info.version);
  return strategy;
}

std::string heading_of(const Plan& plan) {
  const PlanHeader& header = plan.header();
  return fmt::format("{}: {} on {}, discipline {}, planned for {}", header.job_name,
                     strategy_title(header.strategy), header.topology_name,
                     name_of(header.discipline), header.planned_for);
}

std::string bound_text(const PlanHeader& header) {
  if (header.bound_s <= 0) return "none: nothing has to cross a port";
  return fmt::format("{} ({}; {} at line rates)", format_seconds(header.bound_s), header.bound_name,
                     format_seconds(header.bound_line_rate_s));
}

std::optional<double> ratio_to_bound(const PlanHeader& header, double refit_s) {
  if (header.bound_s <= 0) return std::nullopt;
  return refit_s / header.bound_s;
}

std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.4g}", *ratio) : "-";
}

}  // namespace transload
