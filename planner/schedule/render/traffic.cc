#include "planner/schedule/render/traffic.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "common/check.h"
#include "planner/schedule/access.h"

namespace transload::render {
namespace {

using Place = std::tuple<std::int32_t, std::int32_t, OpLink>;

struct Sum {
  std::uint64_t bytes = 0;
  std::uint64_t transfers = 0;
};

std::vector<Flow> flows_of(const std::map<Place, Sum>& sums) {
  std::vector<Flow> flows;
  for (const auto& [place, sum] : sums)
    flows.push_back(
        {std::get<0>(place), std::get<1>(place), std::get<2>(place), sum.bytes, sum.transfers});
  return flows;
}

std::uint64_t rank_staging_bytes(const Plan& plan, std::size_t rank) {
  std::uint64_t bytes = 0;
  for (std::size_t c = rank * kSlotClasses; c < (rank + 1) * kSlotClasses; ++c)
    bytes += plan.staging_slots[c] * plan.staging_slot_bytes[c];
  return bytes;
}

std::vector<bool> drawn_ranks(const Plan& plan, const OpSelection& selection,
                              const std::vector<OpId>& ops) {
  std::vector<bool> drawn(plan.ranks(), false);
  if (selection.empty()) {
    for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
      drawn[rank] = takes_part(plan, static_cast<std::int32_t>(rank));
    return drawn;
  }
  for (const OpId op : ops) {
    drawn[static_cast<std::size_t>(plan.op_source[op])] = true;
    drawn[static_cast<std::size_t>(plan.op_destination[op])] = true;
  }
  return drawn;
}

}  // namespace

std::vector<Flow> rank_flows(const Plan& plan, const std::vector<OpId>& ops) {
  std::map<Place, Sum> sums;
  for (const OpId op : ops) {
    if (op_kind(plan, op) != OpKind::kTransfer) continue;
    Sum& sum = sums[{plan.op_source[op], plan.op_destination[op], op_link(plan, op)}];
    sum.bytes += plan.op_bytes[op];
    ++sum.transfers;
  }
  return flows_of(sums);
}

std::vector<Flow> domain_flows(const Plan& plan, const std::vector<Flow>& by_rank) {
  std::map<Place, Sum> sums;
  const auto domain = [&](std::int32_t rank) {
    return plan.rank_domain[static_cast<std::size_t>(rank)];
  };
  for (const Flow& flow : by_rank) {
    Sum& sum = sums[{domain(flow.from), domain(flow.to), flow.link}];
    sum.bytes += flow.bytes;
    sum.transfers += flow.transfers;
  }
  return flows_of(sums);
}

std::vector<std::uint64_t> local_bytes(const Plan& plan, const std::vector<OpId>& ops) {
  std::vector<std::uint64_t> bytes(plan.ranks(), 0);
  for (const OpId op : ops)
    if (op_role(plan, op) == OpRole::kLocal ||
        (op_role(plan, op) == OpRole::kConvert && plan.op_destination_slot[op] < 0))
      bytes[static_cast<std::size_t>(plan.op_source[op])] += plan.op_bytes[op];
  return bytes;
}

std::string_view name_of(Part part) {
  switch (part) {
    case Part::kHelper:
      return "helper";
    case Part::kSource:
      return "source";
    case Part::kDestination:
      return "destination";
    case Part::kBoth:
      return "source and destination";
  }
  TRANSLOAD_CHECK(false, "enumerators have names");
}

Ink ink_of(Part part) {
  switch (part) {
    case Part::kHelper:
      return kHelperInk;
    case Part::kSource:
      return kSourceInk;
    case Part::kDestination:
      return kDestinationInk;
    case Part::kBoth:
      return kBothInk;
  }
  TRANSLOAD_CHECK(false, "enumerators have inks");
}

Part operator|(Part a, Part b) {
  return static_cast<Part>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

Part part_of(const Plan& plan, std::int32_t rank) {
  Part part = Part::kHelper;
  const auto r = static_cast<std::size_t>(rank);
  for (std::uint64_t i = plan.rank_shard_first[r]; i < plan.rank_shard_first[r + 1]; ++i)
    part = part | (static_cast<Side>(plan.shard_side[i]) == Side::kSource ? Part::kSource
                                                                          : Part::kDestination);
  return part;
}

std::vector<Domain> drawn_domains(const Plan& plan, const OpSelection& selection,
                                  const std::vector<OpId>& ops) {
  const std::vector<bool> drawn = drawn_ranks(plan, selection, ops);
  std::map<std::int32_t, Domain> domains;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    if (!drawn[rank]) continue;
    Domain& domain = domains[plan.rank_domain[rank]];
    domain.number = plan.rank_domain[rank];
    domain.nodes.push_back(plan.rank_node[rank]);
    domain.ranks.push_back(static_cast<std::int32_t>(rank));
    const Part part = part_of(plan, domain.ranks.back());
    domain.part = domain.part | part;
    domain.sources += (part | Part::kSource) == part ? 1 : 0;
    domain.destinations += (part | Part::kDestination) == part ? 1 : 0;
    domain.staging_bytes = std::max(domain.staging_bytes, rank_staging_bytes(plan, rank));
  }
  std::vector<Domain> list;
  for (auto& [number, domain] : domains) {
    std::sort(domain.nodes.begin(), domain.nodes.end());
    domain.nodes.erase(std::unique(domain.nodes.begin(), domain.nodes.end()), domain.nodes.end());
    list.push_back(std::move(domain));
  }
  return list;
}

}  // namespace transload::render
