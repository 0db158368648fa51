#include "cli/net_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/child_processes.h"
#include "cli/rank_reports.h"
#include "common/error.h"
#include "executor/control/service.h"
#include "executor/net/net_company.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

constexpr double kLastWords_s = 10;
constexpr double kAftermath_s = 5;  // after a verdict, until whoever is left is killed

std::string times_path(const std::string& prefix, std::int32_t process) {
  return fmt::format("{}-{}.times", prefix, process);
}

std::vector<nlohmann::json> parse_all(const std::vector<std::string>& words) {
  std::vector<nlohmann::json> parsed;
  for (const std::string& word : words) parsed.push_back(nlohmann::json::parse(word));
  return parsed;
}

// The trace of all from the files of each, which go.
void gather_times(const Plan& plan, std::int32_t processes, const std::string& prefix,
                  RunResult& result) {
  result.times = OpTimes(plan.operations());
  for (std::int32_t process = 0; process < processes; ++process) {
    const std::string path = times_path(prefix, process);
    if (!std::filesystem::exists(path)) continue;
    merge_times(plan, Hosting::blocks(plan, processes, process), path, result.times);
    std::filesystem::remove(path);
  }
}

std::int32_t processes_of(const Plan& plan, const NetFlags& flags) {
  if (flags.processes > 0) return flags.processes;
  std::int32_t count = 0;
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank)
    if (takes_part(plan, static_cast<std::int32_t>(rank))) ++count;
  return count;
}

// A folder of its own for the plan and the times, gone at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "transload-run-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw RunFailure(fmt::format("cannot make a folder like {}", name));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::vector<std::string> child_arguments(const std::string& plan_file, const RunOptions& options,
                                         const NetFlags& flags,
                                         const std::optional<std::string>& report) {
  std::vector<std::string> words = {"run", plan_file, "--backend", "net"};
  const auto add = [&](const std::string& option, const std::string& value) {
    words.push_back(option);
    words.push_back(value);
  };
  add("--iterations", std::to_string(options.iterations));
  add("--deadline", fmt::format("{}", options.deadline_s));
  add("--stall", fmt::format("{}", options.stall_s));
  add("--threads", std::to_string(options.threads));
  add("--address", flags.address);
  add("--io-threads", std::to_string(flags.io_threads));
  add("--beat-timeout", fmt::format("{}", flags.beat_timeout_s));
  if (!flags.nvlink_address.empty()) add("--nvlink-address", flags.nvlink_address);
  if (flags.corrupt_from >= 0) add("--corrupt-from", std::to_string(flags.corrupt_from));
  if (options.verify) words.push_back("--verify");
  if (report) add("--report", *report);
  return words;
}

struct Part {
  std::int32_t process;
  std::int32_t processes;
  bool sums_up;
};

TakenPart take_part(const Plan& plan, Company& company, const Part& part, const RunOptions& options,
                    const std::optional<std::string>& report,
                    const std::optional<std::string>& times_prefix) {
  const Hosting hosting = Hosting::blocks(plan, part.processes, part.process);
  const ParticipantOutcome outcome = run_share(plan, hosting, company, options);
  if (report) write_rank_reports(plan, outcome, *report);
  if (times_prefix && !outcome.failure)
    write_times(outcome.result.times, times_path(*times_prefix, part.process));
  company.tell(summary_of(outcome).dump());
  TakenPart taken;
  taken.failed = outcome.failure.has_value();
  taken.mismatched = outcome.result.mismatched_bytes > 0;
  if (part.sums_up) {
    const auto dead = outcome.verdict ? outcome.verdict->dead : std::vector<std::int32_t>{};
    taken.all = combine(parse_all(company.hear_all(dead, kLastWords_s)));
    if (times_prefix) gather_times(plan, part.processes, *times_prefix, taken.all->result);
  }
  company.leave();
  return taken;
}

}  // namespace

RunOfAll launch_on_net(const Plan& plan, const RunOptions& options, const NetFlags& flags,
                       const std::optional<std::string>& report) {
  const std::int32_t processes = processes_of(plan, flags);
  Hosting::blocks(plan, processes, 0);  // refuses more processes than ranks
  const ScratchFolder scratch;
  const std::string plan_file = scratch.file("job.plan");
  write_plan(plan, plan_file);
  ControlOptions control;
  control.endpoint = flags.address + ":0";
  control.processes = processes;
  control.beat_timeout_s = flags.beat_timeout_s;
  ControlService service(control);

  ChildProcesses children;
  std::vector<std::string> arguments = child_arguments(plan_file, options, flags, report);
  if (options.trace) {
    arguments.push_back("--trace");
    arguments.push_back(scratch.file("run"));
  }
  for (std::int32_t process = 0; process < processes; ++process)
    children.start(arguments, {{"TRANSLOAD_PROCESS", std::to_string(process)},
                               {"TRANSLOAD_PROCESSES", std::to_string(processes)},
                               {"TRANSLOAD_CONTROL", service.endpoint()},
                               {"TRANSLOAD_LAUNCHED", "1"}});
  children.wait_for_all(
      [&](std::size_t process, const std::string& how) {
        service.report_dead(static_cast<std::int32_t>(process), how);
      },
      [&] { return service.seconds_since_verdict().value_or(0) > kAftermath_s; });

  std::vector<std::string> words;
  for (std::int32_t process = 0; process < processes; ++process)
    if (auto word = service.value(word_key(process))) words.push_back(std::move(*word));
  if (words.empty()) throw RunFailure("no process of the run came to a result");
  RunOfAll all = combine(parse_all(words));
  if (words.size() < static_cast<std::size_t>(processes) && !all.failure)
    all.failure = fmt::format("{} of {} processes ended without a word",
                              static_cast<std::size_t>(processes) - words.size(), processes);
  if (options.trace) gather_times(plan, processes, scratch.file("run"), all.result);
  return all;
}

TakenPart take_part_on_net(const Plan& plan, const ProcessPlace& place, const RunOptions& options,
                           const NetFlags& flags, const std::optional<std::string>& report,
                           const std::optional<std::string>& times_prefix) {
  std::unique_ptr<ControlService> service;
  if (place.serves_control) {
    ControlOptions control;
    control.endpoint = place.control;
    control.processes = place.processes;
    control.beat_timeout_s = flags.beat_timeout_s;
    service = std::make_unique<ControlService>(control);
  }
  NetOptions net;
  net.control = place.control;
  net.process = place.process;
  net.processes = place.processes;
  net.beat_timeout_s = flags.beat_timeout_s;
  net.address = flags.address;
  net.nvlink_address = flags.nvlink_address;
  net.threads = flags.io_threads;
  net.corrupt_from = flags.corrupt_from;
  NetCompany company(net);
  return take_part(plan, company,
                   {place.process, place.processes, place.process == 0 && !place.launched_by_us},
                   options, report, times_prefix);
}

TakenPart take_part_on_mpi(const Plan& plan, const MpiPlace& place, const RunOptions& options,
                           const std::optional<std::string>& report,
                           const std::optional<std::string>& times_prefix) {
  return take_part(plan, *place.company, {place.process, place.processes, place.process == 0},
                   options, report, times_prefix);
}

}  // namespace transload
