#include "executor/engine/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace transload {
namespace {

TEST(ThreadPool, CallsEveryIndexOnce) {
  ThreadPool pool(3);
  EXPECT_EQ(pool.threads(), 3u);
  std::vector<std::atomic<int>> calls(1000);
  for (int round = 0; round < 3; ++round)
    pool.for_each(calls.size(), [&](std::size_t i) { ++calls[i]; });
  for (const auto& count : calls) EXPECT_EQ(count, 3);
}

TEST(ThreadPool, StartsATaskOnEveryThread) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> calls(4);
  pool.start([&](unsigned worker) { ++calls[worker]; });
  pool.wait();
  for (const auto& count : calls) EXPECT_EQ(count, 1);
}

TEST(ThreadPool, RethrowsAndServesAgain) {
  ThreadPool pool(2);
  std::atomic<std::size_t> begun = 0;
  const auto fail = [&](std::size_t i) {
    ++begun;
    if (i == 5) throw std::runtime_error("five");
  };
  EXPECT_THROW(pool.for_each(1'000'000, fail), std::runtime_error);
  EXPECT_LT(begun, 1'000'000u) << "no further calls begin after a failure";
  std::atomic<int> sum = 0;
  pool.for_each(10, [&](std::size_t i) { sum += static_cast<int>(i); });
  EXPECT_EQ(sum, 45);
}

TEST(ThreadPool, UsesTheMachinesThreadsByDefault) {
  EXPECT_EQ(ThreadPool(0).threads(), std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace transload
