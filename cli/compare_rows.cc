#include "cli/compare_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

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

class Comparer {
 public:
  Comparer(const Job& job, const PlanningInput& input, Comparison& comparison, Progress& progress)
      : job_(job), input_(input), comparison_(comparison), progress_(progress) {
    for (std::size_t row = 0; row < comparison.rows.size(); ++row)
      for (const bool main : {true, false}) tasks_.push_back({row, main});
  }

  void run() {
    const unsigned workers = std::min(2u, std::max(1u, std::thread::hardware_concurrency()));
    {
      std::vector<std::jthread> threads;
      for (unsigned i = 1; i < workers; ++i) threads.emplace_back([this] { work(); });
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    while (const Task* task = next()) {
      try {
        fill(*task);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
    }
  }

  const Task* next() {
    const std::scoped_lock lock(mutex_);
    return failure_ || next_ == tasks_.size() ? nullptr : &tasks_[next_++];
  }

  void fill(const Task& task) {
    CompareRow& row = comparison_.rows[task.row];
    const Discipline discipline = task.main ? comparison_.discipline : comparison_.other;
    progress_.show(fmt::format("{} of {}: simulating {} ({})", &task - tasks_.data() + 1,
                               tasks_.size(), row.strategy.name, name_of(discipline)));
    std::optional<Plan> plan;
    try {
      plan = make_plan(job_, input_, row.strategy, discipline);
    } catch (const InputError& error) {
      if (task.main) row.unsupported = error.what();
      return;
    }
    SimulateOptions options;
    if (!task.main) options.coarse_share = kSideShare;
    const SimulationResult result = simulate(*plan, options);
    if (!task.main) {
      row.other_discipline_s = result.refit_s;
      return;
    }
    row.refit_s = result.refit_s;
    row.ideal_s = ideal_seconds(*plan);
    row.ratio_to_bound = ratio_to_bound(plan->header(), result.refit_s);
    row.network_bytes = plan_totals(*plan).network_bytes;
    row.bottleneck = result.bottleneck;
    row.in_flight_rule = plan->header().strategy_notes;
    row.phases = exposed_phases(*plan, result);
    row.assumptions = plan->header().assumptions;
  }

  const Job& job_;
  const PlanningInput& input_;
  Comparison& comparison_;
  Progress& progress_;
  std::vector<Task> tasks_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

Comparison compare_strategies(const Job& job, const PlanningInput& input,
                              const std::vector<StrategyChoice>& choices, Discipline discipline,
                              Progress& progress) {
  Comparison comparison;
  comparison.discipline = discipline;
  comparison.other =
      discipline == Discipline::kWindows ? Discipline::kGroups : Discipline::kWindows;
  for (const StrategyChoice& choice : choices) {
    CompareRow row;
    row.strategy = choice;
    comparison.rows.push_back(std::move(row));
  }
  Comparer(job, input, comparison, progress).run();
  const auto& rows = comparison.rows;
  if (std::all_of(rows.begin(), rows.end(),
                  [](const CompareRow& row) { return row.unsupported.has_value(); }) &&
      !rows.empty())
    throw InputError(*rows.front().unsupported);
  return comparison;
}

}  // namespace transload
