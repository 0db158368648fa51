#include "simulator/sizing/refit_range.h"

#include "planner/schedule/access.h"
#include "simulator/estimate.h"

namespace transload {
namespace {

constexpr double kPerMillion = 1e-6;

// The ranges of links that operations of the plan load.
std::vector<LinkRange> ranges_in_use(const Plan& plan, const std::vector<LinkRange>& ranges) {
  std::vector<bool> used(plan.link_kind.size(), false);
  for (OpId op = 0; op < plan.operations(); ++op) {
    for (const std::int32_t port : {plan.op_out_port[op], plan.op_in_port[op]})
      if (port >= 0) used[plan.port_link[static_cast<std::size_t>(port)]] = true;
    for_each_path_link(plan, op, [&](std::uint32_t link) { used[link] = true; });
  }
  std::vector<LinkRange> found;
  for (const LinkRange& range : ranges)
    for (std::size_t link = 0; link < used.size(); ++link)
      if (used[link] && family_of(static_cast<LinkKind>(plan.link_kind[link])) == range.family &&
          plan.link_efficiency_ppm[link] == range.likely_ppm) {
        found.push_back(range);
        break;
      }
  return found;
}

}  // namespace

RefitRange refit_range(const Plan& plan, const std::vector<LinkRange>& ranges, double likely_s,
                       const SimulateOptions& options) {
  RefitRange result{likely_s, likely_s, likely_s, {}};
  const std::vector<LinkRange> varying = ranges_in_use(plan, ranges);
  if (varying.empty()) return result;
  const Plan slow = at_range_end(plan, RangeEnd::kLow, varying);
  const Plan fast = at_range_end(plan, RangeEnd::kHigh, varying);
  Simulation slow_run(slow, options);
  Simulation fast_run(fast, options);
  for (const LinkRange& range : varying)
    result.varies.push_back({std::string(name_of(range.family)),
                             static_cast<double>(range.low_ppm) * kPerMillion,
                             static_cast<double>(range.likely_ppm) * kPerMillion,
                             static_cast<double>(range.high_ppm) * kPerMillion,
                             estimate_seconds(at_range_end(plan, RangeEnd::kLow, {range})),
                             estimate_seconds(at_range_end(plan, RangeEnd::kHigh, {range}))});
  result.high_s = slow_run.finish().refit_s;
  result.low_s = fast_run.finish().refit_s;
  return result;
}

}  // namespace transload
