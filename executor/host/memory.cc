#include "executor/host/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/check.h"
#include "common/error.h"
#include "common/units.h"
#include "executor/host/available_memory.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

constexpr std::uint64_t kArenaAlignment = 256;
// Mappings of at least this size get huge pages: a fresh 4 KiB page costs as much as copying it.
constexpr std::uint64_t kHugeFrom = std::uint64_t{8} << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

std::byte* map_pages(std::uint64_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw RunFailure(fmt::format("cannot map {} of host memory: {}",
                                 format_bytes(static_cast<double>(bytes)), std::strerror(errno)));
  if (bytes >= kHugeFrom) madvise(address, bytes, MADV_HUGEPAGE);  // a wish; refusal is harmless
  return static_cast<std::byte*>(address);
}

}  // namespace

HostLayout host_layout(const Plan& plan, std::int32_t rank) {
  HostLayout layout;
  if (!takes_part(plan, rank)) return layout;
  const auto r = static_cast<std::size_t>(rank);
  for (std::uint64_t row = plan.rank_buffer_first[r]; row < plan.rank_buffer_first[r + 1]; ++row) {
    const std::uint64_t alignment =
        std::max<std::uint64_t>(plan.buffer_alignment[row], kGuardBytes);
    const std::uint64_t bytes = plan.buffer_bytes[row];
    const std::uint64_t stride = round_up(bytes + 2 * kGuardBytes, alignment);
    const std::uint64_t first = round_up(layout.bytes + kGuardBytes, alignment);
    layout.rows.push_back(
        {row, plan.buffer_index[row], plan.buffer_count[row], bytes, stride, first});
    layout.bytes = first + stride * plan.buffer_count[row];
  }
  for (std::size_t c = 0; c < kSlotClasses; ++c) {
    HostArena& arena = layout.arenas[c];
    arena.slots = plan.staging_slots[r * kSlotClasses + c];
    arena.slot_bytes = plan.staging_slot_bytes[r * kSlotClasses + c];
    if (arena.slots == 0) continue;
    arena.offset = round_up(layout.bytes + kGuardBytes, kArenaAlignment);
    layout.bytes = arena.offset + arena.slots * arena.slot_bytes + kGuardBytes;
  }
  return layout;
}

HostMemory::HostMemory(const Plan& plan, const Hosting* hosting) {
  std::uint64_t needed = 0;
  for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(plan.ranks()); ++rank) {
    const bool here = hosting == nullptr || hosting->hosts(rank);
    layouts_.push_back(here ? host_layout(plan, rank) : HostLayout{});
    needed += layouts_.back().bytes;
  }
  require_memory(needed, available_memory());
  bases_.assign(layouts_.size(), nullptr);
  for (std::size_t rank = 0; rank < layouts_.size(); ++rank)
    if (layouts_[rank].bytes > 0) bases_[rank] = map_pages(layouts_[rank].bytes);
}

HostMemory::~HostMemory() {
  for (std::size_t rank = 0; rank < bases_.size(); ++rank)
    if (bases_[rank] != nullptr) munmap(bases_[rank], layouts_[rank].bytes);
}

std::size_t HostMemory::active_ranks() const {
  return static_cast<std::size_t>(std::count_if(
      layouts_.begin(), layouts_.end(), [](const HostLayout& layout) { return layout.bytes > 0; }));
}

std::byte* HostMemory::buffer(std::int32_t rank, std::uint32_t index) const {
  const HostLayout& layout = layouts_[static_cast<std::size_t>(rank)];
  auto row = std::upper_bound(layout.rows.begin(), layout.rows.end(), index,
                              [](std::uint32_t wanted, const HostBufferRow& candidate) {
                                return wanted < candidate.index;
                              });
  TRANSLOAD_CHECK(row != layout.rows.begin(), "a buffer of its rank");
  --row;
  TRANSLOAD_CHECK(index - row->index < row->count, "a buffer of its rank");
  return at(rank, row->offset + (index - row->index) * row->stride);
}

HostMemory::Slot HostMemory::slot(std::int32_t rank, std::int32_t number) const {
  const HostLayout& layout = layouts_[static_cast<std::size_t>(rank)];
  auto left = static_cast<std::uint64_t>(number);
  for (std::size_t c = 0; c < kSlotClasses; ++c) {
    const HostArena& arena = layout.arenas[c];
    if (left < arena.slots)
      return {at(rank, arena.offset + left * arena.slot_bytes),
              c == static_cast<std::size_t>(SlotClass::kBucket)};
    left -= arena.slots;
  }
  TRANSLOAD_CHECK(false, "a slot of its rank");
  return {};
}

}  // namespace transload
