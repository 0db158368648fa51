#include "executor/poison.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/hash.h"
#include "executor/pattern.h"

namespace transload {
namespace {

// Large blocks are cut so that all threads have work.
constexpr std::uint64_t kPartBytes = std::uint64_t{16} << 20;

enum class Place : std::uint64_t { kBuffer, kArena, kGuard };

std::uint64_t poison_word(Place place, std::int32_t rank, std::uint64_t number) {
  const std::uint64_t where =
      (static_cast<std::uint64_t>(place) << 60) ^ (static_cast<std::uint64_t>(rank) << 32) ^ number;
  return mix64(mix64(where) ^ kElementStep);
}

}  // namespace

std::uint64_t buffer_poison(std::int32_t rank, std::uint32_t buffer) {
  return poison_word(Place::kBuffer, rank, buffer);
}

PoisonBlock buffer_block(std::int32_t rank, const HostBufferRow& row, std::uint32_t number) {
  return {rank, row.offset + (number - row.index) * row.stride, row.bytes,
          buffer_poison(rank, number), 0};
}

std::vector<PoisonBlock> arena_blocks(const HostMemory& memory, std::int32_t rank) {
  std::vector<PoisonBlock> blocks;
  const auto& arenas = memory.layout(rank).arenas;
  for (std::size_t c = 0; c < arenas.size(); ++c)
    if (arenas[c].slots > 0)
      blocks.push_back({rank, arenas[c].offset, arenas[c].slots * arenas[c].slot_bytes,
                        poison_word(Place::kArena, rank, c), 0});
  return blocks;
}

std::vector<Guard> guards_of(const HostMemory& memory, std::int32_t rank) {
  std::vector<Guard> guards;
  const std::uint64_t word = poison_word(Place::kGuard, rank, 0);
  const auto add = [&](GuardedPlace place, std::uint32_t number, std::uint64_t at,
                       std::uint64_t bytes) {
    guards.push_back({{rank, at - kGuardBytes, kGuardBytes, word, 0}, place, number, false});
    guards.push_back({{rank, at + bytes, kGuardBytes, word, 0}, place, number, true});
  };
  const HostLayout& layout = memory.layout(rank);
  for (const HostBufferRow& row : layout.rows)
    for (std::uint32_t i = 0; i < row.count; ++i)
      add(GuardedPlace::kBuffer, row.index + i, row.offset + i * row.stride, row.bytes);
  for (std::size_t c = 0; c < layout.arenas.size(); ++c) {
    const HostArena& arena = layout.arenas[c];
    if (arena.slots > 0)
      add(GuardedPlace::kStaging, static_cast<std::uint32_t>(c), arena.offset,
          arena.slots * arena.slot_bytes);
  }
  return guards;
}

std::string describe(const Guard& guard) {
  return fmt::format("rank {}, {} {}: the guard {} it", guard.block.rank,
                     guard.place == GuardedPlace::kBuffer ? "buffer" : "staging class",
                     guard.number, guard.after ? "after" : "before");
}

void write_poison(const HostMemory& memory, ThreadPool& pool,
                  const std::vector<PoisonBlock>& blocks) {
  std::vector<PoisonBlock> parts;
  for (const PoisonBlock& block : blocks)
    for (std::uint64_t done = 0; done < block.bytes; done += kPartBytes)
      parts.push_back({block.rank, block.at + done, std::min(kPartBytes, block.bytes - done),
                       block.word, block.phase + done});
  pool.for_each(parts.size(), [&](std::size_t i) {
    const PoisonBlock& part = parts[i];
    fill_poison({memory.at(part.rank, part.at), part.bytes}, part.word, part.phase);
  });
}

std::uint64_t changed_bytes(const HostMemory& memory, const PoisonBlock& block) {
  return count_not_poison({memory.at(block.rank, block.at), block.bytes}, block.word, block.phase);
}

}  // namespace transload
