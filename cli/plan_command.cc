// transload plan: makes the schedule graph of a job.
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/plan_report.h"
#include "cli/subject.h"

namespace transload {
namespace {

struct Arguments {
  std::string job;
  std::optional<std::string> output;
  PlanningFlags planning;
};

int plan_command(Session& session, const Arguments& arguments) {
  if (arguments.output) require_writable(*arguments.output, "-o");
  const auto begin = std::chrono::steady_clock::now();
  Subject subject{arguments.job, load_job_only(arguments.job), std::nullopt};
  const auto [plan, cached] = planned(subject, arguments.planning);
  if (arguments.output) write_plan(plan, *arguments.output);
  const PlanMaking making{
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), cached};
  const PlanTotals totals = plan_totals(plan);
  if (session.json) {
    print_json(session, plan_json(*subject.job, plan, totals, making));
    return kDone;
  }
  session.out << plan_text(*subject.job, plan, totals, making);
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
