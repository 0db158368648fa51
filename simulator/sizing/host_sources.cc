#include "simulator/sizing/host_sources.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/error.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

class HostSources {
 public:
  HostSources(const Plan& plan, std::span<const std::int64_t> host_rate)
      : plan_(plan), host_rate_(host_rate), tables_(thaw_plan(plan)) {}

  Plan move() {
    for (OpId op = 0; op < plan_.operations(); ++op)
      if (crosses(op)) tables_.op_out_path[op] = path_behind(link_of(op), plan_.op_out_path[op]);
    return seal_plan(plan_.header(), tables_);
  }

 private:
  bool crosses(OpId op) const {
    if (plan_.op_source_slot[op] != kNone) return false;
    const OpKind kind = op_kind(plan_, op);
    if (kind == OpKind::kCopy) return true;
    if (kind != OpKind::kTransfer) return false;
    const auto port = static_cast<std::size_t>(plan_.op_out_port[op]);
    return static_cast<PortKind>(plan_.port_kind[port]) == PortKind::kNvlinkOut;
  }

  // A copy counts its bytes twice (read and write) on each of its links and only reads over this
  // one, so the link of copies has twice the rate.
  std::uint32_t link_of(OpId op) {
    const std::int32_t rank = plan_.op_source[op];
    const bool copies = op_kind(plan_, op) == OpKind::kCopy;
    const auto [entry, added] =
        links_.try_emplace({rank, copies}, static_cast<std::uint32_t>(tables_.link_kind.size()));
    if (!added) return entry->second;
    const std::int64_t rate = host_rate_[static_cast<std::size_t>(rank)];
    if (rate <= 0)
      throw InputError(fmt::format(
          "rank {}: the rate of its link to the host is not known; sources in host memory need it",
          rank));
    tables_.link_kind.push_back(static_cast<std::uint8_t>(LinkKind::kPcie));
    tables_.link_rate.push_back(copies ? 2 * rate : rate);
    tables_.link_efficiency_ppm.push_back(1'000'000);
    tables_.link_name.push_back(tables_.names.size());
    for (const char c : fmt::format("gpu{}.from-host{}", rank, copies ? "" : ".nvlink"))
      tables_.names.push_back(c);
    tables_.names.push_back('\0');
    return entry->second;
  }

  std::uint32_t path_behind(std::uint32_t link, std::uint32_t path) {
    const auto [entry, added] = paths_.try_emplace(
        {link, path}, static_cast<std::uint32_t>(tables_.path_latency_ps.size()));
    if (!added) return entry->second;
    tables_.path_link.push_back(link);
    for (std::uint64_t i = plan_.path_link_first[path]; i < plan_.path_link_first[path + 1]; ++i)
      tables_.path_link.push_back(plan_.path_link[i]);
    tables_.path_link_first.push_back(tables_.path_link.size());
    tables_.path_latency_ps.push_back(plan_.path_latency_ps[path]);
    return entry->second;
  }

  const Plan& plan_;
  std::span<const std::int64_t> host_rate_;
  PlanTables tables_;
  std::map<std::pair<std::int32_t, bool>, std::uint32_t> links_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> paths_;
};

}  // namespace

Plan with_host_sources(const Plan& plan, std::span<const std::int64_t> host_rate) {
  TRANSLOAD_CHECK(host_rate.size() == plan.ranks(), "a rate per rank");
  return HostSources(plan, host_rate).move();
}

}  // namespace transload
