// transload simulate: predicts a refit with SimGrid.
#include "simulator/simulate.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/prediction.h"
#include "cli/progress.h"
#include "cli/subject.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  std::optional<std::string> trace;
  SimulateOptions options;
  PlanningFlags planning;
};

int simulate_command(Session& session, const Arguments& arguments) {
  if (arguments.trace) require_writable(*arguments.trace, "--trace");
  Progress progress(session);
  progress.show("planning");
  Subject subject = load_subject(arguments.path);
  const auto [plan, cached] = planned(subject, arguments.planning);
  progress.show("simulating");
  const SimulationResult result = simulate(plan, arguments.options);
  if (arguments.trace) write_trace(plan, result.times, "simulated", *arguments.trace);
  progress.clear();
  if (session.json) {
    nlohmann::json json = prediction_json(plan, result);
    json["cached"] = cached;
    print_json(session, json);
    return kDone;
  }
  session.out << prediction_text(plan, result);
  if (arguments.trace) session.out << "trace written to " << *arguments.trace << '\n';
  return kDone;
}

}  // namespace

void add_simulate(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, session, "simulate", "Predict how long a refit takes",
                                  "simulate examples/8x8.yaml --trace 8x8-simulated.json");
  command->add_option("PLAN", arguments->path, "Plan file, or a job that is planned first")
      ->required();
  command->add_option("--trace", arguments->trace,
                      "Write a Chrome trace (opens in ui.perfetto.dev)");
  command->add_flag("--exact", arguments->options.exact,
                    "Tell completions apart to a nanosecond instead of 0.2 % of an operation");
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session,
            [arguments, &session] { return simulate_command(session, *arguments); });
}

}  // namespace transload
