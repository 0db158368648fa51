// transload plan: makes the schedule graph of a job.
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "cli/commands.h"
#include "cli/describe_plan.h"
#include "cli/files.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "common/units.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

struct Arguments {
  std::string job;
  std::optional<std::string> output;
  PlanningFlags planning;
};

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

nlohmann::json conversions_json(const Job& job) {
  nlohmann::json list = nlohmann::json::array();
  for (const NeedsConversion& entry : job.needs_conversion)
    list.push_back({{"tensor", entry.tensor}, {"what", entry.what}});
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

nlohmann::json plan_json(const Job& job, const Plan& plan, const PlanTotals& totals,
                         double plan_s) {
  const PlanHeader& header = plan.header();
  const nlohmann::json none = nlohmann::json::array();
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
          {"plan_s", plan_s},
          {"bound_s", header.bound_s},
          {"bound_line_rate_s", header.bound_line_rate_s},
          {"bound", header.bound_name},
          {"buffers", buffers_json(plan)},
          {"unplaced", job.unplaced},
          {"needs_conversion", conversions_json(job)},
          {"max_peers_used", totals.max_peers},
          {"split_blocks", none},
          {"spanning_groups", spanning_json(job)},
          {"assumptions", header.assumptions}};
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
  if (!job.unplaced.empty())
    facts.add("unplaced",
              fmt::format("{} ({}{}), as allowed", counted(job.unplaced.size(), "tensor"),
                          job.unplaced.front(), job.unplaced.size() > 1 ? ", ..." : ""));
}

std::string plan_text(const Job& job, const Plan& plan, const PlanTotals& totals, double plan_s) {
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
  facts.add("peers", fmt::format("at most {} a rank and direction", totals.max_peers));
  add_coverage(job, facts);
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
  facts.add("planned in", format_seconds(plan_s));
  return heading_of(plan) + "\n" + facts.text();
}

int plan_command(Session& session, const Arguments& arguments) {
  if (arguments.output) require_writable(*arguments.output, "-o");
  const auto begin = std::chrono::steady_clock::now();
  const Subject subject{arguments.job, load_job_only(arguments.job), std::nullopt};
  const Plan plan = plan_of(subject, arguments.planning);
  if (arguments.output) write_plan(plan, *arguments.output);
  const double plan_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const PlanTotals totals = plan_totals(plan);
  if (session.json) {
    print_json(session, plan_json(*subject.job, plan, totals, plan_s));
    return kDone;
  }
  session.out << plan_text(*subject.job, plan, totals, plan_s);
  for (const std::string& line : plan.header().assumptions) session.out << "  " << line << '\n';
  if (arguments.output) session.out << "written to " << *arguments.output << '\n';
  return kDone;
}

}  // namespace

void add_plan(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, session, "plan", "Make the schedule graph of a job",
                                  "plan examples/8x8.yaml -o 8x8.plan");
  command->add_option("JOB", arguments->job, "Job file (YAML)")->required();
  command->add_option("-o,--output", arguments->output, "Write the plan to this file");
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session, [arguments, &session] { return plan_command(session, *arguments); });
}

}  // namespace transload
