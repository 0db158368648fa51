// A fixed set of hardware threads that operations, filling and verifying share.
//
// Every piece of work is "call this on each thread once": callers share out their work themselves,
// through a queue (the engine) or a counter (`for_each`). Nothing spins; idle threads sleep.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace transload {

class ThreadPool {
 public:
  // 0: as many threads as the machine has.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned threads() const { return static_cast<unsigned>(threads_.size()); }

  // Calls task(worker) once on every thread and returns at once; worker counts from 0. One at a
  // time.
  void start(std::function<void(unsigned worker)> task);
  // Waits until all threads have returned from the task; rethrows the first exception of any.
  void wait();

  // Calls task(0) .. task(count - 1), each once, on whichever thread is free, and waits. After an
  // exception no further calls begin; it is rethrown here.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  void serve(unsigned worker);

  std::mutex mutex_;
  std::condition_variable begin_;
  std::condition_variable end_;
  std::function<void(unsigned)> task_;
  std::size_t round_ = 0;  // number of tasks started so far
  unsigned working_ = 0;   // threads that have not returned from the current one
  bool closing_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  // last: they use everything above
};

}  // namespace transload
