// transload bound: what no schedule can beat.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "common/units.h"

namespace transload {
namespace {

void print_text(Session& session, const Job& job, const BoundReport& report) {
  session.out << fmt::format("{} on {}: no schedule takes less than {} ({}); at line rates {}\n",
                             job.name, job.topology.name,
                             format_seconds(to_seconds(report.bound_ps)), report.binding,
                             format_seconds(to_seconds(report.bound_line_rate_ps)));
  Table table({"bound", "seconds", "set by"}, {Align::kLeft, Align::kRight, Align::kLeft});
  for (const Bound& bound : report.bounds)
    table.add({bound.name + (bound.conditional ? " (conditional)" : ""),
               format_seconds(to_seconds(bound.ps)), bound.port});
  session.out << table.text();
}

int bound_command(Session& session, const std::string& path) {
  const Job job = load_job_only(path);
  const BoundReport report = naming_file(path, [&] { return prepare(job).bounds; });
  if (!session.json) {
    print_text(session, job, report);
    return kDone;
  }
  nlohmann::json bounds = nlohmann::json::array();
  for (const Bound& bound : report.bounds)
    bounds.push_back({{"name", bound.name},
                      {"port", bound.port},
                      {"seconds", to_seconds(bound.ps)},
                      {"conditional", bound.conditional}});
  print_json(session, {{"bound_s", to_seconds(report.bound_ps)},
                       {"bound_line_rate_s", to_seconds(report.bound_line_rate_ps)},
                       {"binding", report.binding},
                       {"bounds", std::move(bounds)}});
  return kDone;
}

}  // namespace

void add_bound(CLI::App& program, Session& session) {
  auto job = std::make_shared<std::string>();
  CLI::App* command =
      add_command(program, session, "bound",
                  "Lower bounds of a job's refit time, each with the ports that set it",
                  "bound examples/8x8.yaml");
  command->add_option("JOB", *job, "Job file (YAML)")->required();
  on_chosen(command, session, [job, &session] { return bound_command(session, *job); });
}

}  // namespace transload
