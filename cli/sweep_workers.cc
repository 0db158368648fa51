#include "cli/sweep_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/sweep_point.h"
#include "cli/sweep_results.h"
#include "common/units.h"
#include "simulator/replay/child_process.h"

namespace transload {
namespace {

using Clock = std::chrono::steady_clock;

// In memory that all workers share.
struct Shared {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> finished{0};
};
static_assert(std::atomic<std::size_t>::is_always_lock_free);

class Workers {
 public:
  Workers(const Sweep& sweep, const std::vector<std::size_t>& numbers, const std::string& results,
          Progress& progress)
      : sweep_(sweep),
        numbers_(numbers),
        results_(results),
        progress_(progress),
        memory_(sizeof(Shared)),
        shared_(new (memory_.at<std::byte>(0, sizeof(Shared)).data()) Shared) {}

  void run(std::size_t workers) {
    show_progress();
    std::vector<std::unique_ptr<ChildProcess>> processes;
    for (std::size_t i = 0; i < std::min(workers, numbers_.size()); ++i)
      processes.push_back(std::make_unique<ChildProcess>("sweep", [this] { work(); }));
    std::optional<RunFailure> failure;
    for (const auto& process : processes) {
      try {
        process->wait();
      } catch (const RunFailure& error) {
        failure = error;
      }
    }
    if (failure)
      throw RunFailure(
          fmt::format("{}; {} of {} points are done and kept in {}: run again to go on",
                      failure->what(), shared_->finished.load(), numbers_.size(), results_));
  }

 private:
  void work() {
    for (std::size_t i = shared_->next++; i < numbers_.size(); i = shared_->next++) {
      const SweepPoint point = make_point(sweep_, numbers_[i]);
      append_result(results_, point_key(sweep_, point), rows_of_point(sweep_, point));
      ++shared_->finished;
      show_progress();
    }
  }

  void show_progress() {
    constexpr std::size_t kWidth = 30;
    const std::size_t done = shared_->finished;
    const std::size_t filled = kWidth * done / std::max<std::size_t>(1, numbers_.size());
    const double spent = std::chrono::duration<double>(Clock::now() - begin_).count();
    std::string left;
    if (done > 0)
      left = fmt::format(", about {} left",
                         format_seconds(spent / static_cast<double>(done) *
                                        static_cast<double>(numbers_.size() - done)));
    progress_.show(fmt::format("[{}{}] {} of {} points{}", std::string(filled, '#'),
                               std::string(kWidth - filled, '.'), done, numbers_.size(), left));
  }

  const Sweep& sweep_;
  const std::vector<std::size_t>& numbers_;
  const std::string& results_;
  Progress& progress_;
  SharedMemory memory_;
  Shared* shared_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

void compute_points(const Sweep& sweep, const std::vector<std::size_t>& numbers,
                    const std::string& results, std::size_t workers, Progress& progress) {
  if (!numbers.empty()) Workers(sweep, numbers, results, progress).run(workers);
}

}  // namespace transload
