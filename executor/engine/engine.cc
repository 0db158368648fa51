#include "executor/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/error.h"
#include "executor/engine/describe.h"

namespace transload {
namespace {

// Operations are moved in parts of this size, so that a deadline is noticed while a large one runs.
constexpr std::uint64_t kLargestPart = std::uint64_t{64} << 20;

// Parts of crossing transfers are no smaller, however small the pieces of a (scaled) plan are: each
// costs a round trip.
constexpr std::uint64_t kLeastCrossingPart = std::uint64_t{64} << 10;

std::chrono::steady_clock::duration to_duration(double seconds) {
  constexpr double forever = 1e9;  // 30 years: far from overflow in nanoseconds
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds, forever)));
}

}  // namespace

Engine::Engine(const Plan& plan, Backend& backend, ThreadPool& pool, const EngineOptions& options)
    : plan_(plan),
      backend_(backend),
      pool_(pool),
      options_(options),
      hosting_(backend.hosting()),
      issue_(plan,
             options.trace ? IssueState::PostedCallback(
                                 [this](OpId op, std::int32_t port) { note_posted(op, port); })
                           : IssueState::PostedCallback(),
             hosting_),
      stream_(stream_successors(plan)),
      task_(plan.operations(), Task::kBlocked),
      started_(plan.operations(), 0),
      landed_(plan.operations(), 0),
      parts_(hosting_ == nullptr ? 0 : plan.operations(), 0),
      current_(pool.threads(), -1) {
  if (!options_.trace) return;
  report_.times = OpTimes(plan.operations());
  report_.posting_order.resize(plan.ports());
}

double Engine::seconds_now() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Engine::note_posted(OpId op, std::int32_t port) {
  const bool at_source = port == plan_.op_out_port[op];
  (at_source ? report_.times.posted_source_s : report_.times.posted_destination_s)[op] =
      seconds_now();
  report_.posting_order[static_cast<std::size_t>(port)].push_back(op);
}

bool Engine::streams(OpId op) const {
  return !op_stream(plan_, op).empty() || !stream_.of(op).empty();
}

// How far, from its first byte, the operation may move now: up to the first byte that an upstream's
// range contains and that has not landed there.
std::uint64_t Engine::available(OpId op) const {
  const std::uint64_t at = plan_.op_begin[op] + landed_[op];
  std::uint64_t limit = plan_.op_begin[op] + plan_.op_bytes[op];
  for (OpId up : op_stream(plan_, op)) {
    if (!sees(up)) continue;  // the other half waits for it
    if (plan_.op_bundle[up] != plan_.op_bundle[op] || landed_[up] == plan_.op_bytes[up]) continue;
    const std::uint64_t frontier = plan_.op_begin[up] + landed_[up];
    if (at >= plan_.op_begin[up] + plan_.op_bytes[up]) continue;
    limit = std::min(limit, std::max(at, frontier));
  }
  return limit - at;
}

bool Engine::upstreams_finished(OpId op) const {
  const auto upstreams = op_stream(plan_, op);
  return std::all_of(upstreams.begin(), upstreams.end(),
                     [&](OpId up) { return !sees(up) || task_[up] == Task::kFinished; });
}

// Bytes that the operation moves in its next turn; 0: it has to wait. Both halves of a crossing
// transfer must come to the same parts, so there only whole ones go.
std::uint64_t Engine::next_part(OpId op) const {
  std::uint64_t part = kLargestPart;
  if (const std::uint64_t piece = plan_.header().piece_bytes; piece > 0 && streams(op))
    part = std::min(part, crosses(op) ? std::max(piece, kLeastCrossingPart) : piece);
  const std::uint64_t ready = available(op);
  if (!crosses(op)) return std::min(ready, part);
  const std::uint64_t whole = std::min(part, plan_.op_bytes[op] - landed_[op]);
  return ready >= whole ? whole : 0;
}

bool Engine::can_advance(OpId op) const {
  return landed_[op] < plan_.op_bytes[op] ? next_part(op) > 0 : upstreams_finished(op);
}

void Engine::enqueue(OpId op, bool front) {
  task_[op] = Task::kQueued;
  if (front)
    queue_.push_front(op);
  else
    queue_.push_back(op);
  if (idle_ > 0) work_.notify_one();
}

void Engine::enqueue_ready() {
  for (OpId op : ready_) enqueue(op, false);
  ready_.clear();
}

void Engine::start_task(OpId op) {
  started_[op] = 1;
  if (options_.trace) {
    report_.times.start_s[op] = seconds_now();
    if (plan_.op_out_port[op] < 0) report_.times.posted_source_s[op] = report_.times.start_s[op];
  }
  issue_.started(op, ready_);
  enqueue_ready();
}

void Engine::finish_task(OpId op) {
  task_[op] = Task::kFinished;
  if (options_.trace) report_.times.finish_s[op] = seconds_now();
  issue_.finished(op, ready_);
  enqueue_ready();
  wake_downstream(op);
  for (const std::int32_t process : issue_.to_notify(op)) backend_.notify(process, op);
  if (issue_.unfinished() == 0) end_run(nullptr);
}

void Engine::wake_downstream(OpId op) {
  for (OpId next : stream_.of(op))
    if (task_[next] == Task::kResting && can_advance(next)) enqueue(next, false);
}

void Engine::end_run(std::exception_ptr failure) {
  if (ended_) return;
  ended_ = true;
  failure_ = std::move(failure);
  work_.notify_all();
  watch_.notify_all();
}

std::exception_ptr Engine::stalled(const std::string& reason) {
  // What is being moved is what holds the rest back; if nothing is, the least operation not
  // finished.
  OpId op = issue_.least_unfinished();
  std::int64_t moving = -1;
  for (std::int64_t current : current_)
    if (current >= 0 && (moving < 0 || current < moving)) moving = current;
  if (moving >= 0) op = static_cast<OpId>(moving);
  failed_ = op;
  return std::make_exception_ptr(RunFailure(
      fmt::format("{}: {} {}; {} of {} operations are unfinished", describe_operation(plan_, op),
                  reason, moving >= 0 ? "while it was moving" : "before it could finish",
                  issue_.unfinished(), plan_.operations())));
}

// One turn of an operation: start it if this is the first, move one part, finish it if that was the
// last.
void Engine::advance(OpId op, unsigned worker, std::unique_lock<std::mutex>& lock) {
  if (!started_[op]) start_task(op);
  if (landed_[op] < plan_.op_bytes[op]) {
    const std::uint64_t bytes = next_part(op);
    if (bytes > 0 && crosses(op)) return post(op, bytes, lock);
    const std::uint64_t begin = plan_.op_begin[op] + landed_[op];
    const OpKind kind = op_kind(plan_, op);  // fences and host work only pass through
    const bool moves = kind == OpKind::kCopy || kind == OpKind::kTransfer;
    if (bytes > 0 && moves) {
      current_[worker] = op;
      lock.unlock();
      backend_.move(op, begin, bytes);
      lock.lock();
      current_[worker] = -1;
    }
    landed_[op] += bytes;
    if (bytes > 0) wake_downstream(op);
  }
  settle(op);
}

// Behind a turn: the operation has finished, goes on, or waits for its upstreams.
void Engine::settle(OpId op) {
  progress_ = Clock::now();
  if (landed_[op] == plan_.op_bytes[op] && upstreams_finished(op)) {
    finish_task(op);
  } else if (can_advance(op)) {
    enqueue(op, !streams(op));
  } else {
    task_[op] = Task::kResting;
  }
}

void Engine::post(OpId op, std::uint64_t bytes, std::unique_lock<std::mutex>& lock) {
  task_[op] = Task::kTravelling;
  // Parts before this one are as long as it, or it is the last.
  const std::uint64_t begin = plan_.op_begin[op] + landed_[op];
  const auto part = parts_[op]++;
  lock.unlock();
  backend_.post(op, part, begin, bytes, [this, op, bytes](std::exception_ptr failure) {
    arrived(op, bytes, std::move(failure));
  });
  lock.lock();
}

void Engine::arrived(OpId op, std::uint64_t bytes, std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  if (failure) {
    failed_ = op;
    return end_run(std::move(failure));
  }
  landed_[op] += bytes;
  wake_downstream(op);
  settle(op);
}

void Engine::notified(OpId op) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  issue_.finished_elsewhere(op, ready_);
  enqueue_ready();
}

void Engine::interrupt(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  end_run(std::move(failure));
}

void Engine::work(unsigned worker) {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (!queue_.empty()) {
      const OpId op = queue_.front();
      queue_.pop_front();
      task_[op] = Task::kRunning;
      try {
        advance(op, worker, lock);
      } catch (...) {
        if (!lock.owns_lock()) lock.lock();
        current_[worker] = -1;
        failed_ = op;
        end_run(std::current_exception());
      }
      continue;
    }
    // With other processes something may still come from them.
    if (++idle_ == pool_.threads() && hosting_ == nullptr)
      end_run(stalled("the order of the plan has a cycle: nothing can start any more"));
    else
      work_.wait(lock);
    --idle_;
  }
}

void Engine::watch() {
  std::unique_lock lock(mutex_);
  const Clock::time_point deadline = begin_ + to_duration(options_.deadline_s);
  const Clock::duration patience = to_duration(options_.stall_s);
  while (!ended_) {
    watch_.wait_until(lock, std::min(deadline, progress_ + patience));
    const Clock::time_point now = Clock::now();
    if (ended_) return;
    if (now >= deadline)
      end_run(stalled(fmt::format("the deadline of {} s passed", options_.deadline_s)));
    else if (now >= progress_ + patience)
      end_run(stalled(fmt::format("nothing has moved for {} s", options_.stall_s)));
  }
}

EngineReport Engine::run() {
  {
    const std::lock_guard lock(mutex_);
    begin_ = progress_ = Clock::now();
    issue_.begin(ready_);
    enqueue_ready();
    if (issue_.unfinished() == 0) ended_ = true;
  }
  backend_.on_notice([this](OpId op) { notified(op); });
  pool_.start([this](unsigned worker) { work(worker); });
  watch();
  pool_.wait();
  backend_.on_notice({});
  if (failure_) backend_.stop();
  if (failure_) std::rethrow_exception(failure_);
  report_.seconds = std::chrono::duration<double>(progress_ - begin_).count();
  return std::move(report_);
}

}  // namespace transload
