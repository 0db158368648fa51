// transload compare: all strategies on one job, in one table.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/compare_rows.h"
#include "cli/describe_plan.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "common/units.h"

namespace transload {
namespace {

struct Arguments {
  std::string job;
  std::optional<std::string> strategies;
  std::optional<std::string> discipline;
  std::optional<std::string> cache;
};

std::string row_title(const CompareRow& row) {
  const std::string title = strategy_title(row.strategy.name);
  return row.strategy.mode.empty() ? title : title + ":" + row.strategy.mode;
}

nlohmann::json row_json(const CompareRow& row, Discipline discipline) {
  nlohmann::json json = {{"strategy", row.strategy.name},
                         {"version", strategy_info(row.strategy.name).version},
                         {"mode", row.strategy.mode.empty() ? nlohmann::json(nullptr)
                                                            : nlohmann::json(row.strategy.mode)},
                         {"refit_s", nullptr},
                         {"ideal_s", nullptr},
                         {"ratio_to_bound", nullptr},
                         {"discipline", name_of(discipline)},
                         {"other_discipline_s", nullptr},
                         {"network_bytes", nullptr},
                         {"bottleneck", nullptr},
                         {"unsupported", nlohmann::json::array()},
                         {"cached", row.cached},
                         {"assumptions", row.assumptions}};
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
  };
  for (const Unsupported& entry : row.unsupported)
    json["unsupported"].push_back({{"limit", entry.limit},
                                   {"value", or_null(entry.value)},
                                   {"tensor", or_null(entry.tensor)}});
  if (!row.unsupported.empty()) return json;
  json["refit_s"] = row.refit_s;
  json["ideal_s"] = row.ideal_s;
  if (row.ratio_to_bound) json["ratio_to_bound"] = *row.ratio_to_bound;
  if (row.other_discipline_s) json["other_discipline_s"] = *row.other_discipline_s;
  json["network_bytes"] = row.network_bytes;
  json["bottleneck"] = row.bottleneck;
  json["in_flight_rule"] = row.in_flight_rule;
  if (row.phases) {
    json["export_s"] = row.phases->export_s;
    json["broadcast_s"] = row.phases->broadcast_s;
    json["load_s"] = row.phases->load_s;
  }
  return json;
}

nlohmann::json comparison_json(const Job& job, const BoundReport& bounds,
                               const Comparison& comparison) {
  nlohmann::json rows = nlohmann::json::array();
  for (const CompareRow& row : comparison.rows)
    rows.push_back(row_json(row, comparison.discipline));
  return {{"bound_s", to_seconds(bounds.bound_ps)},
          {"bound_line_rate_s", to_seconds(bounds.bound_line_rate_ps)},
          {"binding", bounds.binding},
          {"topology", job.topology.name},
          {"discipline", name_of(comparison.discipline)},
          {"other_discipline", name_of(comparison.other)},
          {"rows", std::move(rows)}};
}

std::string limits_in_words(const std::vector<Unsupported>& limits) {
  std::string words;
  for (const Unsupported& entry : limits)
    words += (words.empty() ? "" : "; ") + entry.limit +
             (entry.value.empty() ? "" : " (" + entry.value + ")");
  return words;
}

std::string row_table(const Comparison& comparison) {
  Table table({"strategy", "simulated refit", "ratio to bound", "ideal",
               fmt::format("under {} (+-1 %)", name_of(comparison.other)), "network", "bottleneck"},
              {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kLeft});
  for (const CompareRow& row : comparison.rows) {
    if (!row.unsupported.empty()) {
      table.add(
          {row_title(row), "unsupported", "-", "-", "-", "-", limits_in_words(row.unsupported)});
      continue;
    }
    table.add({row_title(row), format_seconds(row.refit_s), ratio_text(row.ratio_to_bound),
               format_seconds(row.ideal_s),
               row.other_discipline_s ? format_seconds(*row.other_discipline_s) : "-",
               format_bytes(static_cast<double>(row.network_bytes)), row.bottleneck});
  }
  return table.text();
}

void print_text(Session& session, const Job& job, const BoundReport& bounds,
                const Comparison& comparison) {
  session.out << fmt::format("{} on {}, discipline {}\n\n", job.name, job.topology.name,
                             name_of(comparison.discipline))
              << row_table(comparison) << '\n'
              << fmt::format("bound: {} ({}), at line rates {}; no schedule can be faster\n",
                             format_seconds(to_seconds(bounds.bound_ps)), bounds.binding,
                             format_seconds(to_seconds(bounds.bound_line_rate_ps)))
              << "ideal: the most loaded port of each plan at achieved rates, all else hidden\n";
  for (const CompareRow& row : comparison.rows)
    if (row.phases)
      session.out << fmt::format(
          "{}: export {} + broadcast {} + load {} (simulated; what hides "
          "behind the broadcast is not counted)\n",
          row.strategy.name, format_seconds(row.phases->export_s),
          format_seconds(row.phases->broadcast_s), format_seconds(row.phases->load_s));
  for (const CompareRow& row : comparison.rows)
    for (const std::string& line : row.assumptions) session.out << "  " << line << '\n';
}

std::vector<StrategyChoice> all_strategies() {
  std::vector<StrategyChoice> choices;
  for (const StrategyInfo& info : strategies()) {
    StrategyChoice choice;
    choice.name = info.name;
    choices.push_back(choice);
  }
  return choices;
}

int compare_command(Session& session, const Arguments& arguments) {
  Progress progress(session);
  progress.show("reading the job");
  const Job job = load_job_only(arguments.job);
  std::vector<StrategyChoice> choices = all_strategies();
  if (arguments.strategies) {
    choices = parse_strategies(*arguments.strategies);
  } else {
    // The job's own settings of its strategy count here, too.
    for (StrategyChoice& choice : choices)
      if (choice.name == job.strategy.name) choice = job.strategy;
  }
  const Discipline discipline =
      discipline_choice(job, {std::nullopt, arguments.discipline, std::nullopt});
  const PlanCache cache = PlanCache::open(arguments.cache);
  BoundReport bounds;
  const Comparison comparison = naming_file(arguments.job, [&] {
    const PlanningInput input = prepare(job);
    bounds = input.bounds;
    return compare_strategies(job, input, choices, discipline, cache, progress);
  });
  progress.clear();
  if (session.json)
    print_json(session, comparison_json(job, bounds, comparison));
  else
    print_text(session, job, bounds, comparison);
  return kDone;
}

}  // namespace

void add_compare(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, session, "compare",
                                  "Simulate all strategies on one job and print one table",
                                  "compare examples/8x8.yaml --strategies transload,p2p");
  command->add_option("JOB", arguments->job, "Job file (YAML)")->required();
  command->add_option("--strategies", arguments->strategies,
                      "Only these, separated by commas; default: all");
  command->add_option("--discipline", arguments->discipline,
                      "windows, groups or unbounded; default: the job's, else what its executor "
                      "can do. The other one is shown beside it");
  add_cache_flag(command, arguments->cache);
  on_chosen(command, session,
            [arguments, &session] { return compare_command(session, *arguments); });
}

}  // namespace transload
