#include "planner/layout/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "common/error.h"

namespace transload {
namespace {

// Contiguous runs of one buffer beyond which a job is refused rather than proven.
constexpr std::size_t kMaxRuns = 8'000'000;

// Bits [begin, end) that a tensor takes; kPadding: named padding.
struct Run {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint32_t tensor = 0;
};
constexpr std::uint32_t kPadding = UINT32_MAX;

struct BufferUse {
  std::vector<Run> runs;
  bool shared = false;
};

// The buffer of a rank: a shared one by its number, or that of one tensor.
struct BufferKey {
  Rank rank = 0;
  std::uint32_t pool = 0;
  std::uint32_t shared = BufferRef::kOwnBuffer;
  std::uint32_t tensor = 0;
  friend bool operator<(const BufferKey& a, const BufferKey& b) {
    return std::tie(a.rank, a.pool, a.shared, a.tensor) <
           std::tie(b.rank, b.pool, b.shared, b.tensor);
  }
};

class MemoryValidator {
 public:
  MemoryValidator(const ReshardProblem& problem, bool source)
      : problem_(problem), source_(source) {}

  void validate() {
    for (const TensorGroup& group : problem_.groups) {
      if (source_ && group.making != Making::kNotMade) continue;
      for (std::uint32_t i = 0; i < group.count; ++i) add_tensor(group, group.first + i);
    }
    for (auto& [key, use] : uses_) {
      add_padding(key, use);
      check(key, use);
    }
  }

 private:
  const char* side() const { return source_ ? "source" : "destination"; }

  BufferRef ref_of(std::uint32_t tensor, std::uint32_t pool) const {
    const SideBuffers& side = side_buffers(problem_, source_, pool);
    return side.of_tensor.empty() ? BufferRef{} : side.of_tensor[tensor];
  }

  void add_tensor(const TensorGroup& group, std::uint32_t tensor) {
    if (source_ && problem_.source_tensor[tensor] != tensor) return;
    const Layout& layout = problem_.layouts[source_ ? group.source : group.destination];
    const std::int64_t bits = dtype_bits(group.dtype);
    std::map<std::pair<Rank, std::uint32_t>, std::int64_t> slot_bits;
    for (const RankStorage& storage : layout.storage) {
      const std::int64_t bits_per_slot = storage.slot_bytes * 8;
      slot_bits[{storage.rank, storage.pool}] = bits_per_slot;
      if (storage.padding.empty()) continue;
      const auto [ref, use] = use_of(storage.rank, storage.pool, tensor);
      for (const PaddingSpan& span : storage.padding) {
        const std::int64_t begin = span.offset_bytes * 8 + ref.slot * bits_per_slot;
        use->runs.push_back({begin, begin + span.bytes * 8, kPadding});
      }
    }
    for (const RankBox& shard : layout.shards) {
      const auto [ref, use] = use_of(shard.rank, shard.pool, tensor);
      const std::int64_t begin = shard.offset_bits + ref.slot * slot_bits[{shard.rank, shard.pool}];
      add_runs(layout.loops[shard.loops], begin, bits, tensor, shard.rank, *use);
    }
  }

  std::pair<BufferRef, BufferUse*> use_of(Rank rank, std::uint32_t pool, std::uint32_t tensor) {
    const BufferRef ref = ref_of(tensor, pool);
    const bool shared = ref.buffer != BufferRef::kOwnBuffer;
    BufferUse& use = uses_[{rank, pool, ref.buffer, shared ? 0 : tensor}];
    use.shared = shared;
    return {ref, &use};
  }

  void add_runs(PlaceLoops loops, std::int64_t begin, std::int64_t bits, std::uint32_t tensor,
                Rank rank, BufferUse& use) const {
    std::stable_sort(loops.begin(), loops.end(), [](const PlaceLoop& a, const PlaceLoop& b) {
      return a.stride_bits > b.stride_bits;
    });
    std::erase_if(loops, [](const PlaceLoop& loop) { return loop.length == 1; });
    std::int64_t run = bits;
    while (!loops.empty() && loops.back().stride_bits == run) {
      run *= loops.back().length;
      loops.pop_back();
    }
    refuse_too_many(loops, tensor, rank, use);
    std::vector<std::int64_t> at(loops.size(), 0);
    while (true) {
      use.runs.push_back({begin, begin + run, tensor});
      std::size_t d = loops.size();
      while (d-- > 0) {
        begin += loops[d].stride_bits;
        if (++at[d] < loops[d].length) break;
        begin -= loops[d].length * loops[d].stride_bits;
        at[d] = 0;
      }
      if (d == static_cast<std::size_t>(-1)) return;
    }
  }

  void refuse_too_many(const PlaceLoops& loops, std::uint32_t tensor, Rank rank,
                       const BufferUse& use) const {
    std::size_t room = kMaxRuns - use.runs.size();
    for (const PlaceLoop& loop : loops) room /= static_cast<std::size_t>(loop.length);
    if (room == 0)
      throw InputError(
          fmt::format("tensor {}, {}, rank {}: its buffer consists of more than {} contiguous runs",
                      problem_.names[tensor], side(), rank, kMaxRuns));
  }

  std::string name_of(const BufferKey& key) const {
    if (key.shared == BufferRef::kOwnBuffer)
      return fmt::format("tensor {}, {}, rank {}", problem_.names[key.tensor], side(), key.rank);
    return fmt::format("buffer {}, {}, rank {}",
                       side_buffers(problem_, source_, key.pool).buffers[key.shared].name, side(),
                       key.rank);
  }

  const DeclaredBuffer* declared(const BufferKey& key) const {
    if (key.shared == BufferRef::kOwnBuffer) return nullptr;
    const auto found = problem_.declared_buffers.find(
        side_buffers(problem_, source_, key.pool).buffers[key.shared].name);
    return found == problem_.declared_buffers.end() ? nullptr : &found->second;
  }

  void add_padding(const BufferKey& key, BufferUse& use) const {
    if (const DeclaredBuffer* buffer = declared(key))
      for (const auto& [lo, hi] : buffer->padding) use.runs.push_back({lo * 8, hi * 8, kPadding});
  }

  std::string what(std::uint32_t tensor) const {
    return tensor == kPadding ? "padding" : "tensor " + problem_.names[tensor];
  }

  void check(const BufferKey& key, BufferUse& use) const {
    std::sort(use.runs.begin(), use.runs.end(), [](const Run& a, const Run& b) {
      return std::tie(a.begin, a.end, a.tensor) < std::tie(b.begin, b.end, b.tensor);
    });
    const DeclaredBuffer* buffer = declared(key);
    std::int64_t at = 0;
    std::uint32_t before = kPadding;
    for (const Run& run : use.runs) {
      if (run.begin < 0)
        throw InputError(fmt::format("{}: {} begins {} bytes before it", name_of(key),
                                     what(run.tensor), -run.begin / 8));
      if (run.begin < at && run.end > run.begin)
        throw InputError(fmt::format("{}: {} overlaps {} at byte {}", name_of(key),
                                     what(run.tensor), what(before), run.begin / 8));
      if (use.shared && run.begin > at)
        throw InputError(fmt::format(
            "{}: bytes {} to {} belong to no tensor; name them as padding of the buffer",
            name_of(key), at / 8, run.begin / 8));
      at = std::max(at, run.end);
      before = run.tensor;
    }
    if (buffer == nullptr) return;
    const std::int64_t bytes = bytes_on(*buffer, key.rank);
    if (at > bytes * 8)
      throw InputError(fmt::format("{}: {} ends at byte {}, the buffer has {}", name_of(key),
                                   what(before), (at + 7) / 8, bytes));
    if (at < bytes * 8)
      throw InputError(
          fmt::format("{}: bytes {} to {} belong to no tensor; name them as padding of the buffer",
                      name_of(key), at / 8, bytes));
  }

  const ReshardProblem& problem_;
  bool source_;
  std::map<BufferKey, BufferUse> uses_;
};

}  // namespace

void validate_memory(const ReshardProblem& problem) {
  for (const bool source : {true, false}) MemoryValidator(problem, source).validate();
}

}  // namespace transload
