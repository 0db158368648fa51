// transload run: executes a plan and says what came of it.
#include "executor/run.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.h"
#include "cli/describe_plan.h"
#include "cli/files.h"
#include "cli/mpi_program.h"
#include "cli/net_run.h"
#include "cli/progress.h"
#include "cli/rank_reports.h"
#include "cli/subject.h"
#include "cli/table.h"
#include "common/units.h"
#include "executor/host/available_memory.h"
#include "planner/schedule/access.h"
#include "planner/schedule/scale.h"

namespace transload {
namespace {

struct Arguments {
  std::string path;
  std::string backend = "host";
  std::uint64_t scale = 1;
  bool dry_run = false;
  std::optional<std::string> trace;
  std::optional<std::string> report;
  RunOptions options;
  NetFlags net;
  PlanningFlags planning;
};

std::uint64_t needed_bytes(const Plan& plan) {
  std::uint64_t bytes = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    bytes += rank_peak_bytes(plan, static_cast<std::int32_t>(rank));
  return bytes;
}

nlohmann::json base_json(const Plan& plan, const Arguments& arguments) {
  const PlanHeader& header = plan.header();
  return {{"digest", to_string(plan.digest())},
          {"strategy", header.strategy},
          {"discipline", name_of(header.discipline)},
          {"planned_for", header.planned_for},
          {"executed_on", nullptr},
          {"ranks", participants(plan)},
          {"operations", plan.operations()},
          {"scale", header.scale},
          {"scale_wanted", arguments.scale},
          {"iterations", arguments.options.iterations},
          {"needed_bytes", needed_bytes(plan)},
          {"verified", arguments.options.verify},
          {"refit_s", nullptr},
          {"refit_min_s", nullptr},
          {"refit_max_s", nullptr},
          {"verified_bytes", 0},
          {"mismatched_bytes", 0},
          {"mismatches", nlohmann::json::array()},
          {"state", "old"}};
}

nlohmann::json run_json(const Plan& plan, const Arguments& arguments, const RunResult& result) {
  nlohmann::json json = base_json(plan, arguments);
  json["executed_on"] = result.executed_on;
  json["ranks"] = result.ranks;
  json["refit_s"] = result.refit_s;
  json["refit_min_s"] = result.refit_min_s;
  json["refit_max_s"] = result.refit_max_s;
  json["verified_bytes"] = result.verified_bytes;
  json["mismatched_bytes"] = result.mismatched_bytes;
  json["mismatches"] = result.mismatches;
  json["state"] = result.state;
  return json;
}

Facts plan_facts(const Plan& plan, const Arguments& arguments) {
  Facts facts;
  facts.add("operations",
            fmt::format("{} on {}", plan.operations(), counted(participants(plan), "rank")));
  if (arguments.scale > 1)
    facts.add("scale", fmt::format("bytes divided by {} in all ({} was asked for); the graph is "
                                   "the full plan's",
                                   plan.header().scale, arguments.scale));
  facts.add("memory", format_bytes(static_cast<double>(needed_bytes(plan))));
  return facts;
}

std::string run_text(const Plan& plan, const Arguments& arguments, const RunResult& result) {
  Facts facts = plan_facts(plan, arguments);
  facts.add("planned for", plan.header().planned_for);
  facts.add("executed on", result.executed_on);
  facts.add(
      "measured refit",
      fmt::format("median {}, min {}, max {} ({})", format_seconds(result.refit_s),
                  format_seconds(result.refit_min_s), format_seconds(result.refit_max_s),
                  counted(static_cast<std::size_t>(arguments.options.iterations), "iteration")));
  if (arguments.options.verify)
    facts.add("verified", fmt::format("{} bytes compared, {} mismatched", result.verified_bytes,
                                      result.mismatched_bytes));
  else
    facts.add("verified", "no (--verify compares every byte)");
  facts.add("destinations", result.state);
  std::string text = heading_of(plan) + "\n" + facts.text();
  for (const std::string& line : result.mismatches) text += "  mismatch: " + line + "\n";
  return text;
}

int dry_run(Session& session, const Plan& plan, const Arguments& arguments) {
  if (session.json) {
    print_json(session, base_json(plan, arguments));
  } else {
    session.out << heading_of(plan) << '\n'
                << plan_facts(plan, arguments).text() << "nothing was run (--dry-run)\n";
  }
  return kDone;
}

// A run of several processes. Their reports are theirs.
RunResult run_on_net(const Plan& plan, const Arguments& arguments) {
  RunOfAll all = launch_on_net(plan, arguments.options, arguments.net, arguments.report);
  if (all.failure) throw RunFailure(*all.failure);
  return std::move(all.result);
}

// The reports are written for a run that failed, too: what lies in the destinations is then
// unknown.
RunResult run_and_report(const Plan& plan, const Arguments& arguments) {
  if (arguments.backend == "net") return run_on_net(plan, arguments);
  try {
    RunResult result = run_on_host(plan, arguments.options);
    if (arguments.report) write_rank_reports(plan, result.state, result.refit_s, *arguments.report);
    return result;
  } catch (const RunFailure&) {
    if (arguments.report) write_rank_reports(plan, "torn", std::nullopt, *arguments.report);
    throw;
  }
}

int print_run(Session& session, const Plan& plan, const Arguments& arguments,
              const RunResult& result, bool cached) {
  if (arguments.trace) write_trace(plan, result.times, "measured", *arguments.trace);
  if (session.json) {
    nlohmann::json json = run_json(plan, arguments, result);
    json["cached"] = cached;
    print_json(session, json);
  } else {
    session.out << run_text(plan, arguments, result);
    if (arguments.trace) session.out << "trace written to " << *arguments.trace << '\n';
  }
  return result.mismatched_bytes == 0 ? kDone : kCheckFailed;
}

// One process of several that somebody has launched.
int take_part(Session& session, const std::optional<ProcessPlace>& place,
              const Arguments& arguments) {
  Subject subject = load_subject(arguments.path);
  auto [plan, cached] = planned(subject, arguments.planning);
  require_runnable(plan);
  if (arguments.scale > 1) plan = scale_plan(plan, arguments.scale);
  if (arguments.report) require_folder(*arguments.report, "--report");
  RunOptions options = arguments.options;
  options.trace = arguments.trace.has_value();
  const TakenPart part = place ? take_part_on_net(plan, *place, options, arguments.net,
                                                  arguments.report, arguments.trace)
                               : take_part_on_mpi(plan, session.join_mpi(), options,
                                                  arguments.report, arguments.trace);
  if (!part.all) return part.failed ? kRunFailed : part.mismatched ? kCheckFailed : kDone;
  if (part.all->failure) throw RunFailure(*part.all->failure);
  return print_run(session, plan, arguments, part.all->result, cached);
}

int run_command(Session& session, Arguments arguments) {
  if (arguments.backend == "mpi") {
    if (!session.join_mpi) become_mpi_program(session.arguments);
    return take_part(session, std::nullopt, arguments);
  }
  if (arguments.backend == "net")
    if (const auto place = place_from_environment([](const char* name) { return getenv(name); }))
      return take_part(session, place, arguments);
  if (arguments.trace) require_writable(*arguments.trace, "--trace");
  arguments.options.trace = arguments.trace.has_value();
  Progress progress(session);
  progress.show("planning");
  Subject subject = load_subject(arguments.path);
  auto [plan, cached] = planned(subject, arguments.planning);
  require_runnable(plan);
  if (arguments.scale > 1) plan = scale_plan(plan, arguments.scale);
  if (arguments.dry_run) {
    progress.clear();
    return dry_run(session, plan, arguments);
  }
  // Here as well as in the executor: nothing is torn yet, so no report must say so.
  require_memory(needed_bytes(plan), available_memory());
  if (arguments.report) require_folder(*arguments.report, "--report");
  progress.show("running");
  const RunResult result = run_and_report(plan, arguments);
  progress.clear();
  return print_run(session, plan, arguments, result, cached);
}

}  // namespace

void add_run(CLI::App& program, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(program, session, "run",
                  "Execute a plan and report what was measured (exit code 1 for mismatched bytes)",
                  "run examples/8x8.yaml --backend host --verify --iterations 3");
  command->add_option("PLAN", arguments->path, "Plan file, or a job that is planned first")
      ->required();
  command
      ->add_option("--backend", arguments->backend,
                   "host: all ranks in this process; net: processes that speak TCP; "
                   "mpi: processes that mpirun or srun has started")
      ->capture_default_str()
      ->check(CLI::IsMember({"host", "net", "mpi"}));
  command->add_flag("--verify", arguments->options.verify, "Compare every byte");
  command->add_option("--iterations", arguments->options.iterations, "Refits to run")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--scale", arguments->scale,
                   "Divide lengths until the bytes are about 1/N; the graph stays")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--trace", arguments->trace,
                      "Write a Chrome trace of the last refit (opens in ui.perfetto.dev)");
  command->add_option("--deadline", arguments->options.deadline_s, "Seconds for each refit")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--stall", arguments->options.stall_s,
                   "Seconds without any progress after which a refit has failed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", arguments->options.threads,
                      "Threads that copy, in each process (0: as many as the machine has)");
  command
      ->add_option("--processes", arguments->net.processes,
                   "net: processes to start (0: one per rank)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--address", arguments->net.address, "net: address to listen on and call from")
      ->capture_default_str();
  command->add_option("--nvlink-address", arguments->net.nvlink_address,
                      "net: a second address, for what the plan sends over NVLink");
  command
      ->add_option("--io-threads", arguments->net.io_threads, "net: threads that serve connections")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--beat-timeout", arguments->net.beat_timeout_s,
                   "net: seconds of silence after which a process counts as dead")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  // For tests: see executor/net/connection.h.
  command->add_option("--corrupt-from", arguments->net.corrupt_from)->group("");
  command->add_flag("--dry-run", arguments->dry_run, "Plan and scale, but move nothing");
  command->add_option("--report", arguments->report,
                      "Write rank-R.json for every rank into this folder");
  add_planning_flags(command, arguments->planning);
  on_chosen(command, session, [arguments, &session] { return run_command(session, *arguments); });
}

}  // namespace transload
