// transload simulate: predicts a refit by replaying its plan.
#include "simulator/simulate.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/conditions.h"
#include "cli/files.h"
#include "cli/job_facts.h"
#include "cli/prediction.h"
#include "cli/progress.h"
#include "cli/range_report.h"
#include "cli/rolling.h"
#include "cli/sizing_report.h"
#include "cli/subject.h"

namespace transload {
namespace {

// Of a job its framework and strategy as planned; a plan file carries the job's text and no mode.
std::optional<HostPrediction> host_prediction(const Subject& subject, const PlanningFlags& flags,
                                              const Plan& plan, const SimulationResult& result) {
  std::string framework;
  std::string strategy = plan.header().strategy;
  if (subject.job) {
    framework = subject.job->framework;
    if (const StrategyChoice choice = strategy_choice(*subject.job, flags); !choice.mode.empty())
      strategy += ":" + choice.mode;
  } else {
    framework = framework_of(plan);
  }
  if (framework == "none") return std::nullopt;
  return add_host_costs(load_calibration(framework), strategy, host_work(plan), result.refit_s);
}

struct Arguments {
  std::string path;
  std::optional<std::string> trace;
  bool range = false;
  std::optional<std::int64_t> rolling;
  SimulateOptions options;
  PlanningFlags planning;
  ConditionFlags conditions;
  SizingFlags sizing;
};

// Everything the command found out; the optional parts where they were asked for.
struct Prediction {
  Plan plan;
  ConditionNotes conditions;
  bool cached = false;
  SimulationResult result;
  std::optional<HostPrediction> host;
  SizingReport sizing;
  std::optional<RefitRange> range;
  std::optional<RollingRefit> rolling;
};

std::optional<RollingRefit> predict_rolling(const Arguments& arguments, Subject subject,
                                            const ClusterFacts& facts, Progress& progress) {
  if (!arguments.rolling) return std::nullopt;
  if (!subject.job)
    throw InputError({arguments.path, 0, "--rolling"},
                     "a plan file is for all its destinations at once; give its job instead");
  return naming_file(arguments.path, [&] {
    apply_conditions(arguments.conditions, *subject.job);
    return rolling_refit(*subject.job, facts.replicas,
                         strategy_choice(*subject.job, arguments.planning),
                         discipline_choice(*subject.job, arguments.planning), *arguments.rolling,
                         arguments.conditions, arguments.options, progress);
  });
}

Prediction predict(const Arguments& arguments, Progress& progress) {
  Prediction prediction;
  progress.show("planning");
  const Subject subject = load_subject(arguments.path);
  ConditionedPlan conditioned = plan_under(subject, arguments.planning, arguments.conditions);
  prediction.plan = std::move(conditioned.plan);
  prediction.conditions = std::move(conditioned.notes);
  prediction.cached = conditioned.cached;
  progress.show("simulating");
  prediction.result = simulate(prediction.plan, arguments.options);
  prediction.host =
      host_prediction(subject, arguments.planning, prediction.plan, prediction.result);
  const ClusterFacts facts = facts_of(subject, arguments.conditions.background.value_or(0));
  prediction.sizing = sizing_report(prediction.plan, prediction.result, facts, arguments.sizing,
                                    arguments.conditions.source_memory == "host");
  if (arguments.range) {
    progress.show("simulating both ends of the range");
    prediction.range =
        refit_range(prediction.plan, facts.ranges, prediction.result.refit_s, arguments.options);
  }
  prediction.rolling = predict_rolling(arguments, subject, facts, progress);
  return prediction;
}

nlohmann::json to_json(const Prediction& prediction) {
  nlohmann::json json = prediction_json(prediction.plan, prediction.result, prediction.host);
  json["cached"] = prediction.cached;
  json.update(sizing_json(prediction.sizing));
  json["conditions"] = prediction.conditions;
  if (prediction.range) json["range"] = range_json(*prediction.range);
  if (prediction.rolling) json["rolling"] = rolling_json(*prediction.rolling);
  return json;
}

int simulate_command(Session& session, const Arguments& arguments) {
  if (arguments.trace) require_writable(*arguments.trace, "--trace");
  Progress progress(session);
  const Prediction prediction = predict(arguments, progress);
  if (arguments.trace)
    write_trace(prediction.plan, prediction.result.times, "simulated", *arguments.trace);
  progress.clear();
  if (session.json) {
    print_json(session, to_json(prediction));
    return kDone;
  }
  session.out << prediction_text(prediction.plan, prediction.result, prediction.host) << '\n'
              << sizing_text(prediction.sizing);
  for (const std::string& line : prediction.conditions) session.out << "  " << line << '\n';
  if (prediction.range) session.out << '\n' << range_text(*prediction.range);
  if (prediction.rolling) session.out << '\n' << rolling_text(*prediction.rolling);
  if (arguments.trace) session.out << "trace written to " << *arguments.trace << '\n';
  return kDone;
}

}  // namespace

void add_simulate(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, session, "simulate", "Predict how long a refit takes",
                                  "simulate examples/8x8.yaml --trace 8x8-simulated.json --range");
  command->add_option("PLAN", arguments->path, "Plan file, or a job that is planned first")
      ->required();
  command->add_option("--trace", arguments->trace,
                      "Write a Chrome trace (opens in ui.perfetto.dev)");
  command->add_flag("--exact", arguments->options.exact,
                    "Tell completions apart to a nanosecond instead of 0.2 % of an operation");
  const std::map<std::string, ReplayEngine> engines = {
      {std::string(name_of(ReplayEngine::kSimGrid)), ReplayEngine::kSimGrid},
      {std::string(name_of(ReplayEngine::kMaxMin)), ReplayEngine::kMaxMin}};
  command
      ->add_option(
          "--engine", arguments->options.engine,
          fmt::format("simgrid | max-min: who shares the links; default: by the size of the "
                      "plan, simgrid up to {} operations",
                      kSimGridOperations))
      ->transform(CLI::CheckedTransformer(engines));
  command->add_flag("--range", arguments->range,
                    "Also at the low and high ends of the topology's efficiencies");
  command->add_option("--rolling", arguments->rolling,
                      "Also as a rolling refit of so many replicas at a time (jobs only)");
  add_condition_flags(command, arguments->conditions);
  add_sizing_flags(command, arguments->sizing);
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session,
            [arguments, &session] { return simulate_command(session, *arguments); });
}

}  // namespace transload
