#include "executor/zero_fills.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "executor/pattern.h"
#include "executor/poison.h"

namespace transload {
namespace {

// Large fills are cut and small ones are taken together, so that all threads have work and none
// more calls than work.
constexpr std::uint64_t kTaskBytes = std::uint64_t{4} << 20;
constexpr std::size_t kTaskStretches = 4096;

}  // namespace

ZeroFills::ZeroFills(const Plan& plan, const HostMemory& memory) : memory_(memory) {
  for (std::size_t rank = 0; rank < plan.ranks(); ++rank) {
    if (!memory.has(static_cast<std::int32_t>(rank))) continue;
    for (std::uint64_t i = plan.rank_fill_first[rank]; i < plan.rank_fill_first[rank + 1]; ++i)
      for (std::uint32_t k = 0; k < plan.fill_buffer_count[i]; ++k)
        for (std::uint64_t done = 0; done < plan.fill_bytes[i]; done += kTaskBytes)
          stretches_.push_back({static_cast<std::int32_t>(rank), plan.fill_buffer[i] + k,
                                plan.fill_offset[i] + done,
                                std::min(kTaskBytes, plan.fill_bytes[i] - done)});
  }
  std::sort(stretches_.begin(), stretches_.end(), [](const Stretch& a, const Stretch& b) {
    return std::tie(a.rank, a.buffer, a.offset) < std::tie(b.rank, b.buffer, b.offset);
  });
  std::uint64_t bytes = kTaskBytes;  // of the current task
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    if (bytes >= kTaskBytes || i - tasks_.back() >= kTaskStretches) {
      tasks_.push_back(i);
      bytes = 0;
    }
    bytes += stretches_[i].bytes;
  }
  tasks_.push_back(stretches_.size());
}

template <class Work>
void ZeroFills::for_each_stretch(ThreadPool& pool, Work&& work) const {
  pool.for_each(tasks_.size() - 1, [&](std::size_t task) {
    for (std::size_t i = tasks_[task]; i < tasks_[task + 1]; ++i) {
      const Stretch& at = stretches_[i];
      work(i, std::span(memory_.buffer(at.rank, at.buffer) + at.offset, at.bytes));
    }
  });
}

void ZeroFills::write(ThreadPool& pool) const {
  for_each_stretch(pool, [](std::size_t, std::span<std::byte> bytes) {
    std::memset(bytes.data(), 0, bytes.size());
  });
}

void ZeroFills::poison(ThreadPool& pool) const {
  for_each_stretch(pool, [&](std::size_t i, std::span<std::byte> bytes) {
    const Stretch& at = stretches_[i];
    fill_poison(bytes, buffer_poison(at.rank, at.buffer), at.offset);
  });
}

std::vector<ZeroFills::Wrong> ZeroFills::check(ThreadPool& pool) const {
  std::vector<std::uint64_t> wrong(stretches_.size(), 0);
  for_each_stretch(pool, [&](std::size_t i, std::span<const std::byte> bytes) {
    wrong[i] = count_not_poison(bytes, 0, 0);
  });
  std::vector<Wrong> found;
  for (std::size_t i = 0; i < stretches_.size(); ++i) {
    if (wrong[i] == 0) continue;
    const Stretch& at = stretches_[i];
    if (found.empty() || found.back().rank != at.rank || found.back().buffer != at.buffer)
      found.push_back({at.rank, at.buffer, 0});
    found.back().bytes += wrong[i];
  }
  return found;
}

}  // namespace transload
