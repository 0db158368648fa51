// Zero fills: the bytes of destination buffers that belong to no element and that a refit leaves
// zero, at addresses. Padding that an engine's kernels read must be zero even where the buffer was
// never written before.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/engine/thread_pool.h"
#include "executor/host/memory.h"

namespace transload {

class ZeroFills {
 public:
  // Both must outlive it.
  ZeroFills(const Plan& plan, const HostMemory& memory);

  bool empty() const { return stretches_.empty(); }
  // Writes the zeros of all ranks, on all threads.
  void write(ThreadPool& pool) const;
  // Writes other bytes over them: poison, as `word` repeats over the rank's buffer.
  void poison(ThreadPool& pool) const;

  struct Wrong {
    std::int32_t rank;
    std::uint32_t buffer;
    std::uint64_t bytes;  // that are not zero
  };
  // The buffers whose fills are not all zero, by rank and buffer.
  std::vector<Wrong> check(ThreadPool& pool) const;

 private:
  struct Stretch {
    std::int32_t rank;
    std::uint32_t buffer;
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  template <class Work>
  void for_each_stretch(ThreadPool& pool, Work&& work) const;

  const HostMemory& memory_;
  std::vector<Stretch> stretches_;  // by rank and buffer
  std::vector<std::size_t> tasks_;  // first stretch of each task, and their end
};

}  // namespace transload
