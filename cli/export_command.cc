// transload export: the schedule graph in the format of another tool.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/subject.h"
#include "simulator/export/goal.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  std::string format = "goal";
  std::optional<std::string> output;
  PlanningFlags planning;
};

int export_command(Session& session, const Arguments& arguments) {
  if (arguments.format != "goal")
    throw InputError("--format: expected goal, found " + arguments.format);
  if (arguments.output) require_writable(*arguments.output, "-o");
  const Plan plan = plan_of(load_subject(arguments.path), arguments.planning);
  std::ostringstream text;
  write_goal(plan, text);
  nlohmann::json json = {
      {"format", arguments.format}, {"ranks", plan.ranks()}, {"operations", plan.operations()}};
  if (arguments.output) {
    write_text_file(text.str(), *arguments.output);
    json["file"] = *arguments.output;
    if (!session.json)
      session.out << fmt::format("{} operations written to {}\n", plan.operations(),
                                 *arguments.output);
  } else {
    json["text"] = text.str();
    if (!session.json) session.out << text.str();
  }
  if (session.json) print_json(session, json);
  return kDone;
}

}  // namespace

void add_export(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(program, session, "export", "Write the schedule graph for another simulator",
                  "export examples/8x8.yaml --format goal -o 8x8.goal");
  command->add_option("PLAN", arguments->path, "Plan file, or a job that is planned first")
      ->required();
  command->add_option("--format", arguments->format, "goal: for LogGOPSim and ATLAHS")
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "File to write; default: the terminal");
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session,
            [arguments, &session] { return export_command(session, *arguments); });
}

}  // namespace transload
