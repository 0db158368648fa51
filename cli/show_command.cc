// transload show: the operations of a plan in global order.
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/describe_plan.h"
#include "cli/subject.h"
#include "planner/schedule/show.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  ShowFilter filter;
  PlanningFlags planning;
};

int show_command(Session& session, const Arguments& arguments) {
  const Plan plan = plan_of(load_subject(arguments.path), arguments.planning);
  if (session.json) {
    print_json(session, show_plan(plan, arguments.filter));
  } else {
    const std::string text = show_text(plan, arguments.filter);
    session.out << heading_of(plan) << '\n' << text;
  }
  return kDone;
}

}  // namespace

void add_show(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  arguments->filter.limit = 10'000;
  CLI::App* command =
      add_command(program, session, "show", "List the operations of a plan in global order",
                  "show examples/8x8.yaml --rank 2");
  command->add_option("PLAN", arguments->path, "Plan file, or a job that is planned first")
      ->required();
  command->add_option("--rank", arguments->filter.rank, "Only operations of this rank");
  command->add_option("--tensor", arguments->filter.tensor,
                      "Only operations that carry this tensor (name or glob)");
  command->add_option("--limit", arguments->filter.limit, "List at most so many operations")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session, [arguments, &session] { return show_command(session, *arguments); });
}

}  // namespace transload
