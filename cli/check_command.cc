// transload check: proves a plan right, or says where it is not.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/describe_plan.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "planner/schedule/check/check_plan.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  std::size_t limit = 20;
  PlanningFlags planning;
};

void print_text(Session& session, const Plan& plan, const CheckReport& report) {
  session.out << heading_of(plan) << '\n';
  if (report.ok) {
    session.out << fmt::format(
        "{} hold exactly-once, acyclic, staging and issue-limits: the plan is right\n",
        counted(plan.operations(), "operation"));
    return;
  }
  Table table({"invariant", "violated by"}, {Align::kLeft, Align::kLeft});
  for (const Violation& violation : report.violations)
    table.add({violation.invariant, violation.text});
  session.out << table.text();
  if (report.truncated) session.out << "... and more; --limit shows more\n";
  session.out << "the plan is wrong\n";
}

int check_command(Session& session, const Arguments& arguments) {
  const Plan plan = plan_of(load_subject(arguments.path), arguments.planning);
  const CheckReport report = check_plan(plan, arguments.limit);
  if (session.json) {
    nlohmann::json violations = nlohmann::json::array();
    for (const Violation& violation : report.violations)
      violations.push_back({{"invariant", violation.invariant}, {"text", violation.text}});
    print_json(session, {{"ok", report.ok},
                         {"violations", std::move(violations)},
                         {"truncated", report.truncated}});
  } else {
    print_text(session, plan, report);
  }
  return report.ok ? kDone : kCheckFailed;
}

}  // namespace

void add_check(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(
      program, session, "check",
      "Prove that a plan moves the right bytes once, without deadlock, within its memory "
      "(exit code 1 if not)",
      "check examples/8x8.yaml --strategy p2p");
  command->add_option("PLAN", arguments->path, "Plan file, or a job that is planned first")
      ->required();
  command->add_option("--limit", arguments->limit, "Report at most so many violations")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session, [arguments, &session] { return check_command(session, *arguments); });
}

}  // namespace transload
