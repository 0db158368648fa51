// transload sweep: a grid of jobs, each planned with every strategy.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <thread>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/sweep_file.h"
#include "cli/sweep_plot.h"
#include "cli/sweep_results.h"
#include "cli/sweep_table.h"
#include "cli/sweep_workers.h"
#include "common/error.h"
#include "common/units.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  std::optional<std::string> results;
  std::optional<std::string> csv;
  std::optional<std::string> plot;
  std::optional<std::int64_t> workers;
  bool fresh = false;
};

struct Outcome {
  nlohmann::json rows = nlohmann::json::array();
  std::size_t computed = 0;
  std::size_t reused = 0;
  double sweep_s = 0;
};

std::size_t worker_count(const Arguments& arguments) {
  if (!arguments.workers) return std::max(1u, std::thread::hardware_concurrency());
  if (*arguments.workers < 1 || *arguments.workers > 1024)
    throw InputError(
        fmt::format("--workers: expected a number from 1 to 1024, found {}", *arguments.workers));
  return static_cast<std::size_t>(*arguments.workers);
}

Outcome run_sweep(const Sweep& sweep, const std::string& results, const Arguments& arguments,
                  Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t workers = worker_count(arguments);
  std::error_code ignored;
  // Read first: a file that is something else must not be removed.
  FinishedPoints finished = read_results(results);
  if (arguments.fresh) {
    std::filesystem::remove(results, ignored);
    finished.clear();
  }
  open_results(results);
  std::vector<std::string> keys;
  std::vector<std::size_t> missing;
  std::set<std::string> wanted;
  for (std::size_t number = 0; number < point_count(sweep); ++number) {
    keys.push_back(point_key(sweep, make_point(sweep, number)));
    if (!finished.contains(keys.back()) && wanted.insert(keys.back()).second)
      missing.push_back(number);
  }
  Outcome outcome;
  outcome.computed = missing.size();
  outcome.reused = keys.size() - missing.size();
  compute_points(sweep, missing, results, workers, progress);
  if (!missing.empty()) finished = read_results(results);
  for (std::size_t number = 0; number < keys.size(); ++number)
    for (nlohmann::json row : finished.at(keys[number])) {
      // The file may come from a grid in another order.
      row["point"] = number;
      outcome.rows.push_back(std::move(row));
    }
  outcome.sweep_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

// Where nothing could be planned at all, the first reason is the answer.
void refuse_if_nothing(const Outcome& outcome) {
  for (const nlohmann::json& row : outcome.rows)
    if (!row.at("seconds").is_null()) return;
  for (const nlohmann::json& row : outcome.rows) {
    if (!row.at("refused").is_null()) throw InputError(row.at("refused").get<std::string>());
    for (const nlohmann::json& entry : row.at("unsupported"))
      throw InputError(fmt::format("{}: {}", row.at("strategy").get<std::string>(),
                                   entry.at("limit").get<std::string>()));
  }
}

int sweep_command(Session& session, const Arguments& arguments) {
  if (arguments.csv) require_writable(*arguments.csv, "--csv");
  if (arguments.plot) require_writable(*arguments.plot, "--plot");
  const Sweep sweep = load_sweep(arguments.path);
  const std::string results = arguments.results.value_or(sweep.name + ".results.jsonl");
  require_writable(results, "--results");
  Progress progress(session);
  const Outcome outcome = run_sweep(sweep, results, arguments, progress);
  progress.clear();
  refuse_if_nothing(outcome);
  if (arguments.csv) write_text_file(sweep_csv(sweep, outcome.rows), *arguments.csv);
  if (arguments.plot) write_text_file(sweep_svg(sweep, outcome.rows), *arguments.plot);
  if (session.json) {
    print_json(session, {{"rows", outcome.rows},
                         {"points", point_count(sweep)},
                         {"computed", outcome.computed},
                         {"reused", outcome.reused},
                         {"results", results},
                         {"sweep_s", outcome.sweep_s}});
    return kDone;
  }
  session.out << sweep_text(sweep, outcome.rows)
              << fmt::format("{} points in {}: {} computed, {} taken from {}\n", point_count(sweep),
                             format_seconds(outcome.sweep_s), outcome.computed, outcome.reused,
                             results);
  return kDone;
}

}  // namespace

void add_sweep(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(
      program, session, "sweep", "Predict a grid of jobs: topologies, layouts, strategies",
      "sweep examples/sweep-small.yaml --csv sweep.csv --plot sweep.svg");
  command->add_option("FILE", arguments->path, "Sweep file (YAML, docs/sweep.md)")->required();
  command->add_option("--results", arguments->results,
                      "Where finished points are kept, to go on after an interruption; default: "
                      "NAME.results.jsonl in the working folder");
  command->add_flag("--fresh", arguments->fresh, "Compute all points again");
  command->add_option("--csv", arguments->csv, "Write all rows as CSV");
  command->add_option("--plot", arguments->plot, "Draw refit time and bound as SVG");
  command->add_option("--workers", arguments->workers, "Points computed at a time; default: cores");
  on_chosen(command, session, [arguments, &session] { return sweep_command(session, *arguments); });
}

}  // namespace transload
