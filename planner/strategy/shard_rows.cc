#include "planner/strategy/shard_rows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "common/check.h"

namespace transload {
namespace {

// Consecutive tensors of equal layout whose buffers follow one another: tensor first + i lies in
// buffer `buffer` + i / inner, slot `slot` + i % inner. Without a shared buffer: in one of its own.
struct RefRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t buffer = BufferRef::kOwnBuffer;
  std::uint32_t slot = 0;
  std::uint32_t inner = 1;

  bool shared() const { return buffer != BufferRef::kOwnBuffer; }
  std::uint32_t buffers() const { return (count + inner - 1) / inner; }
};

// The longest run of references from `begin` on.
RefRun run_from(const std::vector<BufferRef>& refs, std::uint32_t begin, std::uint32_t end) {
  const BufferRef start = refs[begin];
  RefRun run{begin, 1, start.buffer, start.slot, 1};
  if (!run.shared()) {
    while (begin + run.count < end && refs[begin + run.count].buffer == BufferRef::kOwnBuffer)
      ++run.count;
    return run;
  }
  std::uint32_t inner = 1;
  while (begin + inner < end && refs[begin + inner] == BufferRef{start.buffer, start.slot + inner})
    ++inner;
  run.inner = inner;
  run.count = inner;
  while (begin + run.count < end &&
         refs[begin + run.count] ==
             BufferRef{start.buffer + run.count / inner, start.slot + run.count % inner})
    ++run.count;
  // Only whole stacks, or what follows in the last buffer would get slots of the next.
  if (run.count > inner) run.count -= run.count % inner;
  return run;
}

std::vector<RefRun> runs_of(const SideBuffers& side, std::uint32_t first, std::uint32_t count) {
  if (side.of_tensor.empty()) return {{first, count, BufferRef::kOwnBuffer, 0, 1}};
  std::vector<RefRun> runs;
  for (std::uint32_t at = first; at < first + count; at += runs.back().count)
    runs.push_back(run_from(side.of_tensor, at, first + count));
  return runs;
}

// Tensors first .. first + count - 1 have one layout on this side.
struct LayoutRange {
  std::uint32_t layout = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::map<std::uint32_t, std::vector<RefRun>> runs{};  // of the pools that hold anything of it
};

class SideEmitter {
 public:
  SideEmitter(PlanBuilder& builder, const ReshardProblem& problem, Side side)
      : builder_(builder), problem_(problem), side_(side) {}

  void emit() {
    list_ranges();
    for (const LayoutRange& range : ranges_)
      for (const auto& [pool, runs] : range.runs)
        for (const RefRun& run : runs)
          if (run.shared()) need_buffers(range, pool, run);
    add_shared_buffers();
    for (const LayoutRange& range : ranges_)
      for (const auto& [pool, runs] : range.runs)
        for (const RefRun& run : runs) add_rows(range, pool, run);
  }

 private:
  // Buffers [first, last] of a rank that one row of tensors needs, and how long they must be.
  struct Need {
    std::uint32_t first;
    std::uint32_t last;
    std::int64_t bytes;
  };
  // Numbers from `first` on have rank-local buffers from `local` on.
  struct Local {
    std::uint32_t first;
    std::uint32_t count;
    std::uint32_t local;
  };
  using RankPool = std::pair<Rank, std::uint32_t>;

  void list_ranges() {
    for (const TensorGroup& group : problem_.groups) {
      if (side_ == Side::kSource && group.making != Making::kNotMade) continue;
      const std::uint32_t layout = side_ == Side::kSource ? group.source : group.destination;
      if (!ranges_.empty() && ranges_.back().layout == layout &&
          ranges_.back().first + ranges_.back().count == group.first)
        ranges_.back().count += group.count;
      else
        ranges_.push_back({layout, group.first, group.count});
    }
    for (LayoutRange& range : ranges_)
      for (const RankStorage& storage : problem_.layouts[range.layout].storage)
        if (!range.runs.contains(storage.pool))
          range.runs[storage.pool] = runs_of(buffers_of(storage.pool), range.first, range.count);
  }

  const SideBuffers& buffers_of(std::uint32_t pool) const {
    return side_buffers(problem_, side_ == Side::kSource, pool);
  }

  void need_buffers(const LayoutRange& range, std::uint32_t pool, const RefRun& run) {
    for (const RankStorage& storage : problem_.layouts[range.layout].storage) {
      if (storage.pool != pool || storage.bytes == 0) continue;
      const std::int64_t last_slot = run.slot + run.inner - 1;
      needs_[{storage.rank, pool}].push_back({run.buffer, run.buffer + run.buffers() - 1,
                                              last_slot * storage.slot_bytes + storage.bytes});
    }
  }

  // Cuts the needs of a rank at all their borders; each piece becomes a row of equal buffers.
  void add_shared_buffers() {
    for (const auto& [where, needs] : needs_) {
      std::map<std::uint32_t, std::int64_t> borders;
      for (const Need& need : needs) {
        borders[need.first] = 0;
        borders[need.last + 1] = 0;
      }
      for (const Need& need : needs)
        for (auto piece = borders.find(need.first); piece->first <= need.last; ++piece)
          piece->second = std::max(piece->second, need.bytes);
      for (auto piece = borders.begin(); std::next(piece) != borders.end(); ++piece)
        if (piece->second > 0)
          add_buffer_rows(where, piece->first, std::next(piece)->first, piece->second);
    }
  }

  // Neighbours differ in name or class only where somebody declared one of them.
  void add_buffer_rows(const RankPool& where, std::uint32_t first, std::uint32_t end,
                       std::int64_t bytes) {
    const std::vector<SharedBuffer>& buffers = buffers_of(where.second).buffers;
    std::vector<Local>& locals = locals_[where];
    for (std::uint32_t at = first; at < end;) {
      const DeclaredBuffer* declared = declared_of(buffers[at]);
      std::uint32_t next = at + 1;
      while (next < end && declared == nullptr && declared_of(buffers[next]) == nullptr &&
             buffers[next].destination_class == buffers[at].destination_class)
        ++next;
      const std::int64_t size = declared ? bytes_on(*declared, where.first) : bytes;
      BufferTraits traits;
      traits.buffer_class = class_of(buffers[at].destination_class);
      const std::uint32_t local =
          builder_.add_buffers(where.first, side_, static_cast<std::uint64_t>(size), next - at,
                               next - at == 1 ? buffers[at].name : std::string(), traits);
      locals.push_back({at, next - at, local});
      if (declared && declared->fill == PaddingFill::kZero && side_ == Side::kDestination)
        for (const auto& [lo, hi] : declared->padding)
          builder_.add_fill(where.first, local, 1, static_cast<std::uint64_t>(lo),
                            static_cast<std::uint64_t>(hi - lo));
      at = next;
    }
  }

  const DeclaredBuffer* declared_of(const SharedBuffer& buffer) const {
    if (problem_.declared_buffers.empty()) return nullptr;
    const auto found = problem_.declared_buffers.find(buffer.name);
    return found == problem_.declared_buffers.end() ? nullptr : &found->second;
  }

  static BufferClass class_of(DestinationClass destination_class) {
    switch (destination_class) {
      case DestinationClass::kShadow:
        return BufferClass::kShadow;
      case DestinationClass::kLoader:
        return BufferClass::kLoader;
      case DestinationClass::kDirect:
        break;
    }
    return BufferClass::kDirect;
  }

  // Buffers of one row are consecutive for the rank: it holds every one of them, and numbers them
  // as they are numbered.
  std::uint32_t local_of(const RankPool& where, std::uint32_t buffer) const {
    const std::vector<Local>& locals = locals_.at(where);
    const auto after =
        std::upper_bound(locals.begin(), locals.end(), buffer,
                         [](std::uint32_t wanted, const Local& row) { return wanted < row.first; });
    TRANSLOAD_CHECK(after != locals.begin(), "a buffer of the rank");
    const Local& row = *std::prev(after);
    TRANSLOAD_CHECK(buffer < row.first + row.count, "a buffer of the rank");
    return row.local + (buffer - row.first);
  }

  void add_rows(const LayoutRange& range, std::uint32_t pool, const RefRun& run) {
    const Layout& layout = problem_.layouts[range.layout];
    auto shard = layout.shards.begin();
    for (const RankStorage& storage : layout.storage) {
      if (storage.pool != pool || storage.bytes == 0) continue;
      const std::uint32_t buffer =
          run.shared() ? local_of({storage.rank, pool}, run.buffer)
                       : builder_.add_buffers(storage.rank, side_,
                                              static_cast<std::uint64_t>(storage.bytes), run.count);
      const std::int64_t base = run.shared() ? run.slot * storage.slot_bytes : 0;
      if (storage.zero_padding && side_ == Side::kDestination)
        add_fills(storage, run, buffer, base);
      while (shard != layout.shards.end() && shard->rank < storage.rank) ++shard;
      for (auto box = shard; box != layout.shards.end() && box->rank == storage.rank; ++box)
        if (box->pool == pool) add_row(layout, *box, run, buffer, base * 8, storage.slot_bytes * 8);
    }
  }

  void add_row(const Layout& layout, const RankBox& box, const RefRun& run, std::uint32_t buffer,
               std::int64_t base_bits, std::int64_t slot_bits) {
    ShardSpec spec;
    spec.side = side_;
    spec.tensor_first = run.first;
    spec.tensor_count = run.count;
    spec.box = builder_.add_box(box.box.bounds);
    spec.buffer = buffer;
    spec.inner_count = run.inner;
    spec.bit_offset = static_cast<std::uint64_t>(base_bits + box.offset_bits);
    spec.inner_bits = run.inner > 1 ? static_cast<std::uint64_t>(slot_bits) : 0;
    for (const PlaceLoop& loop : layout.loops[box.loops])
      spec.loops.push_back({loop.dim, loop.length, loop.stride_bits});
    builder_.add_shard(box.rank, spec);
  }

  void add_fills(const RankStorage& storage, const RefRun& run, std::uint32_t buffer,
                 std::int64_t base) {
    for (const PaddingSpan& span : storage.padding)
      for (std::uint32_t slot = 0; slot < run.inner; ++slot)
        builder_.add_fill(
            storage.rank, buffer, run.shared() ? run.buffers() : run.count,
            static_cast<std::uint64_t>(base + slot * storage.slot_bytes + span.offset_bytes),
            static_cast<std::uint64_t>(span.bytes));
  }

  PlanBuilder& builder_;
  const ReshardProblem& problem_;
  Side side_;
  std::vector<LayoutRange> ranges_;
  std::map<RankPool, std::vector<Need>> needs_;
  std::map<RankPool, std::vector<Local>> locals_;
};

}  // namespace

void add_tensors_and_shards(PlanBuilder& builder, const ReshardProblem& problem) {
  for (const TensorGroup& group : problem.groups)
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const std::uint32_t tensor = group.first + i;
      const std::uint32_t source = problem.source_tensor[tensor];
      builder.add_tensor(problem.names[tensor], group.shape, group.dtype,
                         source == tensor ? std::nullopt : std::optional(source));
    }
  for (const TensorGroup& group : problem.groups)
    if (group.making != Making::kNotMade)
      for (std::uint32_t tensor = group.first; tensor < group.first + group.count; ++tensor)
        builder.set_made(tensor, problem.made_from[tensor], group.recipe, group.making);
  SideEmitter(builder, problem, Side::kSource).emit();
  SideEmitter(builder, problem, Side::kDestination).emit();
}

}  // namespace transload
