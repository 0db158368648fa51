// The engine: walks a plan by the issue rule over a back end, on a pool of threads.
//
// Ranks and lanes are data here, not threads: an operation is a task that becomes ready when
// IssueState says so, and any thread takes it. Operations with stream edges (hops of a lowered
// collective) are resumable tasks: they move what has landed upstream, in pieces, and give their
// thread back when nothing more is there, so a chain of any length needs no more threads than one.
//
// Where the back end hosts some of the ranks only, the engine walks their operations; transfers
// that cross to another process are begun here and go on when the back end reports a part as done.
//
// A run ends when every operation has finished, or in an exception: what a back end threw, or
// RunFailure naming rank and operation when nothing can start any more, nothing has moved for
// `stall_s`, or the deadline has passed; or what `interrupt` was given.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "executor/engine/backend.h"
#include "executor/engine/thread_pool.h"
#include "planner/schedule/issue.h"
#include "planner/schedule/trace.h"

namespace transload {

struct EngineOptions {
  double deadline_s = 600;  // of the whole run
  double stall_s = 10;      // without a piece or an operation completed
  bool trace = false;       // fill EngineReport's times and posting order
};

struct EngineReport {
  double seconds = 0;  // first posting to last completion
  // With trace:
  OpTimes times;
  std::vector<std::vector<OpId>> posting_order;  // per port
};

class Engine {
 public:
  // All three must outlive the engine.
  Engine(const Plan& plan, Backend& backend, ThreadPool& pool, const EngineOptions& options);

  // Runs the plan once; an engine runs once.
  EngineReport run();

  // Ends the run with this exception, from any thread; later ones count for nothing.
  void interrupt(std::exception_ptr failure);

  // After a run, or one that failed: how far an operation got here.
  bool has_started(OpId op) const { return started_[op] != 0; }
  bool has_finished(OpId op) const { return task_[op] == Task::kFinished; }
  // Of a run that failed: the operation that was under way, or could not finish.
  OpId failed_operation() const { return failed_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Task : std::uint8_t { kBlocked, kQueued, kRunning, kTravelling, kResting, kFinished };

  bool streams(OpId op) const;
  std::uint64_t available(OpId op) const;
  bool upstreams_finished(OpId op) const;
  bool can_advance(OpId op) const;
  std::uint64_t next_part(OpId op) const;
  bool crosses(OpId op) const { return hosting_ != nullptr && hosting_->crosses(plan_, op); }
  bool sees(OpId op) const { return hosting_ == nullptr || hosting_->sees(plan_, op); }

  void work(unsigned worker);
  void advance(OpId op, unsigned worker, std::unique_lock<std::mutex>& lock);
  void post(OpId op, std::uint64_t bytes, std::unique_lock<std::mutex>& lock);
  void arrived(OpId op, std::uint64_t bytes, std::exception_ptr failure);
  void notified(OpId op);
  void settle(OpId op);
  void start_task(OpId op);
  void finish_task(OpId op);
  void wake_downstream(OpId op);
  void enqueue(OpId op, bool front);
  void enqueue_ready();
  void end_run(std::exception_ptr failure);
  void watch();
  std::exception_ptr stalled(const std::string& reason);
  double seconds_now() const;
  void note_posted(OpId op, std::int32_t port);

  const Plan& plan_;
  Backend& backend_;
  ThreadPool& pool_;
  EngineOptions options_;
  const Hosting* hosting_;

  // Everything below is guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable work_;   // the queue has something, or the run has ended
  std::condition_variable watch_;  // the run has ended
  IssueState issue_;
  Successors stream_;
  std::vector<Task> task_;
  std::vector<std::uint8_t> started_;
  std::vector<std::uint64_t> landed_;  // bytes of each operation's range, from its beginning
  std::vector<std::uint32_t> parts_;   // begun of each crossing transfer
  std::deque<OpId> queue_;
  std::vector<OpId> ready_;            // scratch for IssueState
  std::vector<std::int64_t> current_;  // per worker: the operation it moves, or -1
  unsigned idle_ = 0;
  bool ended_ = false;
  OpId failed_ = 0;
  std::exception_ptr failure_;
  Clock::time_point begin_;
  Clock::time_point progress_;
  EngineReport report_;
};

}  // namespace transload
