#include "cli/compare_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "cli/describe_plan.h"
#include "common/error.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

// The other discipline is a side figure: five times as coarse, so within about 1 % instead of 0.2
// %.
constexpr double kSideShare = 5 * kCoarseShare;

// A strategy under one discipline; `main` fills the row, the other one only adds its time.
struct Task {
  std::size_t row = 0;
  bool main = true;
};

// A plan whose simulation runs in a process of its own.
struct Running {
  Running(const Task& the_task, Plan the_plan, const SimulateOptions& options)
      : task(the_task), plan(std::move(the_plan)), simulation(plan, options) {}
  Task task;
  Plan plan;
  Simulation simulation;
};

// Plans one after the other and simulates beside that, a process per core; no thread, because a
// process that forks may have none.
class Comparer {
 public:
  Comparer(const Job& job, const PlanningInput& input, Comparison& comparison,
           const PlanCache& cache, Progress& progress)
      : job_(job), input_(input), comparison_(comparison), cache_(cache), progress_(progress) {
    for (std::size_t row = 0; row < comparison.rows.size(); ++row)
      for (const bool main : {true, false}) tasks_.push_back({row, main});
  }

  void run() {
    const std::size_t most = std::clamp(std::thread::hardware_concurrency(), 1u, kMostAtOnce);
    for (const Task& task : tasks_) {
      progress_.show(fmt::format("{} of {}: {} ({})", &task - tasks_.data() + 1, tasks_.size(),
                                 comparison_.rows[task.row].strategy.name,
                                 name_of(discipline_of(task))));
      if (running_.size() == most) finish_oldest();
      start(task);
    }
    while (!running_.empty()) finish_oldest();
  }

 private:
  Discipline discipline_of(const Task& task) const {
    return task.main ? comparison_.discipline : comparison_.other;
  }

  void start(const Task& task) {
    CompareRow& row = comparison_.rows[task.row];
    SimulateOptions options;
    if (!task.main) options.coarse_share = kSideShare;
    try {
      CachedPlan made = cache_.plan(job_, row.strategy, discipline_of(task), [&] {
        return make_plan(job_, input_, row.strategy, discipline_of(task));
      });
      if (task.main) row.cached = made.hit;
      running_.push_back(std::make_unique<Running>(task, std::move(made.plan), options));
    } catch (const UnsupportedError& error) {
      if (task.main) row.unsupported = error.limits();
    } catch (const InputError& error) {
      if (task.main) row.unsupported = {{error.what(), "", ""}};
    }
  }

  void finish_oldest() {
    const std::unique_ptr<Running> running = std::move(running_.front());
    running_.pop_front();
    const SimulationResult result = running->simulation.finish();
    CompareRow& row = comparison_.rows[running->task.row];
    if (!running->task.main) {
      row.other_discipline_s = result.refit_s;
      return;
    }
    const Plan& plan = running->plan;
    row.refit_s = result.refit_s;
    row.ideal_s = ideal_seconds(plan);
    row.ratio_to_bound = ratio_to_bound(plan.header(), result.refit_s);
    row.network_bytes = plan_totals(plan).network_bytes;
    row.bottleneck = result.bottleneck;
    row.in_flight_rule = plan.header().strategy_notes;
    row.phases = exposed_phases(plan, result);
    row.assumptions = plan.header().assumptions;
  }

  // Plans of large jobs take hundreds of megabytes each.
  static constexpr unsigned kMostAtOnce = 2;

  const Job& job_;
  const PlanningInput& input_;
  Comparison& comparison_;
  const PlanCache& cache_;
  Progress& progress_;
  std::vector<Task> tasks_;
  std::deque<std::unique_ptr<Running>> running_;
};

// Why nobody can do the job: the words of a single strategy, or a line for each.
std::string no_strategy_text(const std::vector<CompareRow>& rows) {
  std::string text = rows.size() == 1 ? "" : "no strategy can do this job";
  for (const CompareRow& row : rows)
    text += (rows.size() == 1 ? "" : "\n  ") + refusal_text(row.strategy.name, row.unsupported);
  return text;
}

}  // namespace

Comparison compare_strategies(const Job& job, const PlanningInput& input,
                              const std::vector<StrategyChoice>& choices, Discipline discipline,
                              const PlanCache& cache, Progress& progress) {
  Comparison comparison;
  comparison.discipline = discipline;
  comparison.other =
      discipline == Discipline::kWindows ? Discipline::kGroups : Discipline::kWindows;
  for (const StrategyChoice& choice : choices) {
    CompareRow row;
    row.strategy = choice;
    comparison.rows.push_back(std::move(row));
  }
  Comparer(job, input, comparison, cache, progress).run();
  const auto& rows = comparison.rows;
  if (std::all_of(rows.begin(), rows.end(),
                  [](const CompareRow& row) { return !row.unsupported.empty(); }) &&
      !rows.empty())
    throw InputError(no_strategy_text(rows));
  return comparison;
}

}  // namespace transload
