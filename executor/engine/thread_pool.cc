#include "executor/engine/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/check.h"

namespace transload {

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  threads_.reserve(threads);
  for (unsigned worker = 0; worker < threads; ++worker)
    threads_.emplace_back([this, worker] { serve(worker); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  begin_.notify_all();
}

void ThreadPool::serve(unsigned worker) {
  std::size_t served = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begin_.wait(lock, [&] { return closing_ || round_ != served; });
    if (round_ == served) return;
    served = round_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      task_(worker);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (--working_ == 0) end_.notify_all();
  }
}

void ThreadPool::start(std::function<void(unsigned worker)> task) {
  {
    const std::lock_guard lock(mutex_);
    TRANSLOAD_CHECK(working_ == 0, "a pool runs one task at a time");
    task_ = std::move(task);
    failure_ = nullptr;
    working_ = threads();
    ++round_;
  }
  begin_.notify_all();
}

void ThreadPool::wait() {
  std::unique_lock lock(mutex_);
  end_.wait(lock, [&] { return working_ == 0; });
  task_ = nullptr;
  if (std::exception_ptr failure = std::exchange(failure_, nullptr))
    std::rethrow_exception(failure);
}

void ThreadPool::for_each(std::size_t count, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  start([&](unsigned) {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        next = count;
        throw;
      }
    }
  });
  wait();
}

}  // namespace transload
