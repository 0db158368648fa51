// What `plan` and `replan` print about a plan.
#include "cli/plan_report.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/describe_plan.h"
#include "cli/table.h"
#include "common/units.h"

namespace transload {
namespace {

// Per rank that takes part: bytes of its weights on either side and of its staging memory.
nlohmann::json buffers_json(const Plan& plan) {
  nlohmann::json buffers = nlohmann::json::object();
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    if (!takes_part(plan, static_cast<std::int32_t>(rank))) continue;
    const std::uint64_t source = side_bytes(plan, rank, Side::kSource);
    const std::uint64_t destination = side_bytes(plan, rank, Side::kDestination);
    const std::uint64_t all = rank_peak_bytes(plan, static_cast<std::int32_t>(rank));
    buffers[std::to_string(rank)] = {
        {"source", source}, {"destination", destination}, {"staging", all - source - destination}};
  }
  return buffers;
}

std::string what_of(const ConvertedTensors& entry) {
  return fmt::format("{} to {} {}", dtype_name(entry.from), entry.to,
                     entry.making == Making::kAtSource ? "on the source, before the wire"
                                                       : "on the receivers, behind the wire");
}

nlohmann::json conversions_json(const Job& job) {
  nlohmann::json list = nlohmann::json::array();
  for (const NeedsConversion& entry : job.needs_conversion)
    list.push_back({{"tensor", entry.tensor}, {"what", entry.what}});
  for (const ConvertedTensors& entry : job.problem.conversions)
    list.push_back(
        {{"tensor", entry.tensor}, {"what", what_of(entry)}, {"tensors", entry.tensors}});
  return list;
}

nlohmann::json split_blocks_json(const Job& job) {
  nlohmann::json list = nlohmann::json::array();
  for (const ConvertedTensors& entry : job.problem.conversions)
    if (entry.split)
      list.push_back({{"tensor", entry.tensor},
                      {"tensors", entry.tensors},
                      {"side", "source"},
                      {"rank", entry.split->rank},
                      {"dimension", entry.split->dim},
                      {"at", entry.split->at},
                      {"block", entry.split->block}});
  return list;
}

nlohmann::json spanning_json(const Job& job) {
  nlohmann::json groups = nlohmann::json::array();
  for (const SpanningGroups& found : job.spanning_groups)
    groups.push_back({{"side", found.side},
                      {"axis", found.axis},
                      {"size", found.size},
                      {"groups", found.groups},
                      {"spanning", found.spanning},
                      {"first", found.first},
                      {"domains", found.domains},
                      {"avoidable", found.avoidable}});
  return groups;
}

}  // namespace

nlohmann::json plan_json(const Job& job, const Plan& plan, const PlanTotals& totals,
                         const PlanMaking& making) {
  const PlanHeader& header = plan.header();
  return {{"digest", to_string(plan.digest())},
          {"strategy", header.strategy},
          {"discipline", name_of(header.discipline)},
          {"planned_for", header.planned_for},
          {"ranks", participants(plan)},
          {"tensors", plan.tensors()},
          {"demand_classes", header.demand_classes},
          {"operations", plan.operations()},
          {"transfers", transfers(plan)},
          {"slices", plan.slice_box.size()},
          {"payload_bytes", totals.payload_bytes},
          {"network_bytes", totals.network_bytes},
          {"nvlink_bytes", totals.nvlink_bytes},
          {"local_bytes", totals.local_bytes},
          {"max_nic_out_bytes", totals.max_nic_out_bytes},
          {"max_nic_in_bytes", totals.max_nic_in_bytes},
          {"staging_bytes", totals.staging_bytes},
          {"chunk_bytes", header.chunk_bytes},
          {"window", header.window},
          {"colours_per_group", header.colours_per_group},
          {"plan_s", making.plan_s},
          {"cached", making.cached},
          {"bound_s", header.bound_s},
          {"bound_line_rate_s", header.bound_line_rate_s},
          {"bound", header.bound_name},
          {"buffers", buffers_json(plan)},
          {"unplaced", unplaced_names(job)},
          {"needs_conversion", conversions_json(job)},
          {"max_peers_used", totals.max_peers},
          {"split_blocks", split_blocks_json(job)},
          {"spanning_groups", spanning_json(job)},
          {"assumptions", header.assumptions}};
}

namespace {

// Conversions on the way, by what they are, and why some are not made before the wire.
void add_conversions(const Job& job, Facts& facts) {
  std::map<std::string, std::pair<std::int64_t, std::string>> kinds;
  for (const ConvertedTensors& entry : job.problem.conversions) {
    auto& [count, example] = kinds[what_of(entry)];
    if (count == 0) example = entry.tensor;
    count += entry.tensors;
    if (entry.split)
      facts.add(
          "split block",
          fmt::format("rank {} of the source cuts blocks of {} at {} along dimension {} ({}): "
                      "{} travels",
                      entry.split->rank, entry.split->block, entry.split->at, entry.split->dim,
                      entry.tensor, dtype_name(entry.from)));
  }
  for (const auto& [what, kind] : kinds)
    facts.add("converts",
              fmt::format("{} ({}{}): {}", counted(static_cast<std::size_t>(kind.first), "tensor"),
                          kind.second, kind.first > 1 ? ", ..." : "", what));
}

// Conversions by what they are: thousands of layers need the same one.
void add_coverage(const Job& job, Facts& facts) {
  std::map<std::string, std::pair<std::size_t, std::string>> kinds;
  for (const NeedsConversion& entry : job.needs_conversion) {
    auto& [count, example] = kinds[entry.what];
    if (count++ == 0) example = entry.tensor;
  }
  for (const auto& [what, kind] : kinds)
    facts.add("needs conversion", fmt::format("{} ({}{}): {}", counted(kind.first, "tensor"),
                                              kind.second, kind.first > 1 ? ", ..." : "", what));
  const std::vector<std::string> unplaced = unplaced_names(job);
  if (!unplaced.empty())
    facts.add("unplaced", fmt::format("{} ({}{}), as allowed", counted(unplaced.size(), "tensor"),
                                      unplaced.front(), unplaced.size() > 1 ? ", ..." : ""));
}

}  // namespace

std::string plan_text(const Job& job, const Plan& plan, const PlanTotals& totals,
                      const PlanMaking& making) {
  const PlanHeader& header = plan.header();
  const auto bytes = [](std::uint64_t count) { return format_bytes(static_cast<double>(count)); };
  Facts facts;
  facts.add("moves", fmt::format("{} of {} to {}", bytes(totals.payload_bytes),
                                 counted(plan.tensors(), "tensor"),
                                 counted(destinations(plan), "destination rank")));
  facts.add("operations", fmt::format("{}, {} of them transfers, on {}; {}, {}", plan.operations(),
                                      transfers(plan), counted(participants(plan), "rank"),
                                      fmt::format("{} demand classes", header.demand_classes),
                                      counted(plan.slice_box.size(), "slice")));
  facts.add("over", fmt::format("network {}, NVLink {}, copies {}", bytes(totals.network_bytes),
                                bytes(totals.nvlink_bytes), bytes(totals.local_bytes)));
  facts.add("busiest NIC", fmt::format("out {}, in {}", bytes(totals.max_nic_out_bytes),
                                       bytes(totals.max_nic_in_bytes)));
  facts.add("staging", fmt::format("at most {} a rank, chunks of {}", bytes(totals.staging_bytes),
                                   bytes(header.chunk_bytes)));
  facts.add("peers", fmt::format("at most {} a rank over the network", totals.max_peers));
  add_coverage(job, facts);
  add_conversions(job, facts);
  for (const SpanningGroups& found : job.spanning_groups)
    if (found.avoidable)
      facts.add(
          "crosses domains",
          fmt::format("{} of {} {} groups of {} {} ranks: {} lie in {} NVLink domains although "
                      "one would hold them",
                      found.spanning, found.groups, found.side, found.size, found.axis,
                      found.spanning == 1 ? "its ranks" : "theirs", found.domains));
  facts.add("bound", bound_text(header));
  facts.add("digest", to_string(plan.digest()));
  facts.add("planned in",
            format_seconds(making.plan_s) + (making.cached ? ", from the cache" : ""));
  return heading_of(plan) + "\n" + facts.text();
}

}  // namespace transload
