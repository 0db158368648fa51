#include "simulator/sizing/link_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "common/error.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

constexpr std::int64_t kPpm = 1'000'000;

LinkKind kind_of(const PlanTables& tables, std::size_t link) {
  return static_cast<LinkKind>(tables.link_kind[link]);
}

bool is_nic(LinkKind kind) { return kind == LinkKind::kNicOut || kind == LinkKind::kNicIn; }

std::vector<bool> links_in_use(const Plan& plan) {
  std::vector<bool> used(plan.link_kind.size(), false);
  for (OpId op = 0; op < plan.operations(); ++op)
    for (const std::int32_t port : {plan.op_out_port[op], plan.op_in_port[op]})
      if (port >= 0) used[plan.port_link[static_cast<std::size_t>(port)]] = true;
  return used;
}

}  // namespace

Plan at_range_end(const Plan& plan, RangeEnd end, const std::vector<LinkRange>& ranges) {
  PlanTables tables = thaw_plan(plan);
  for (std::size_t link = 0; link < tables.link_kind.size(); ++link) {
    const LinkFamily family = family_of(kind_of(tables, link));
    const auto range = std::find_if(ranges.begin(), ranges.end(), [&](const LinkRange& each) {
      return each.family == family && each.likely_ppm == plan.link_efficiency_ppm[link];
    });
    if (range != ranges.end())
      tables.link_efficiency_ppm[link] = end == RangeEnd::kLow ? range->low_ppm : range->high_ppm;
  }
  return seal_plan(plan.header(), tables);
}

Plan with_background(const Plan& plan, double share) {
  TRANSLOAD_CHECK(share >= 0 && share < 1, "a share of what there is");
  const std::int64_t left = kPpm - std::llround(share * kPpm);
  PlanTables tables = thaw_plan(plan);
  for (std::size_t link = 0; link < tables.link_kind.size(); ++link)
    if (is_nic(kind_of(tables, link)))
      tables.link_efficiency_ppm[link] =
          std::max<std::int64_t>(1, tables.link_efficiency_ppm[link] * left / kPpm);
  return seal_plan(plan.header(), tables);
}

Plan with_slow_nics(const Plan& plan, const std::vector<SlowNic>& nics) {
  PlanTables tables = thaw_plan(plan);
  const std::vector<bool> used = links_in_use(plan);
  for (const SlowNic& slow : nics) {
    bool found = false;
    for (std::size_t link = 0; link < tables.link_kind.size(); ++link) {
      if (!is_nic(kind_of(tables, link))) continue;
      const std::string_view name = plan_name(plan, plan.link_name[link]);
      if (name != slow.nic + ".out" && name != slow.nic + ".in") continue;
      found = true;
      if (slow.share_ppm == 0) {
        if (used[link])
          throw InputError(fmt::format(
              "the plan sends over {}, which is down; give its job instead, to plan without it",
              slow.nic));
        continue;
      }
      std::int64_t& rate = tables.link_rate[link];
      // A rate of 0 stands for "costs no time" and stays.
      if (rate > 0)
        rate = std::max<std::int64_t>(
            1, static_cast<std::int64_t>(static_cast<__int128>(rate) * slow.share_ppm / kPpm));
    }
    if (!found) throw InputError(fmt::format("the plan has no NIC {}", slow.nic));
  }
  return seal_plan(plan.header(), tables);
}

}  // namespace transload
