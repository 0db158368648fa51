// Poison: what a verified run puts where no value has arrived yet or ever may: destination buffers,
// staging arenas, bytes beside the elements of a buffer, and guard bytes. One word per buffer,
// arena and rank's guards, so that poison copied from one place to another is found as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "executor/engine/thread_pool.h"
#include "executor/host/memory.h"

namespace transload {

// A stretch of a rank's mapping that should hold poison.
struct PoisonBlock {
  std::int32_t rank = 0;
  std::uint64_t at = 0;  // in the rank's mapping
  std::uint64_t bytes = 0;
  std::uint64_t word = 0;
  std::uint64_t phase = 0;  // where the stretch begins in what the word repeats over
};

// The word of a rank's buffer, by its rank-local number.
std::uint64_t buffer_poison(std::int32_t rank, std::uint32_t buffer);

// All of one buffer of a row of the rank's layout.
PoisonBlock buffer_block(std::int32_t rank, const HostBufferRow& row, std::uint32_t number);
// Every staging arena of a rank.
std::vector<PoisonBlock> arena_blocks(const HostMemory& memory, std::int32_t rank);

enum class GuardedPlace : std::uint8_t { kBuffer, kStaging };
struct Guard {
  PoisonBlock block;
  GuardedPlace place;
  std::uint32_t number;  // rank-local buffer, or SlotClass
  bool after;            // behind it, else in front of it
};
// The guards round a rank's buffers and arenas.
std::vector<Guard> guards_of(const HostMemory& memory, std::int32_t rank);
// "rank 3, buffer 2: the guard after it".
std::string describe(const Guard& guard);

// Writes poison over the blocks, in parallel.
void write_poison(const HostMemory& memory, ThreadPool& pool,
                  const std::vector<PoisonBlock>& blocks);
// Bytes of the block that are not poison.
std::uint64_t changed_bytes(const HostMemory& memory, const PoisonBlock& block);

}  // namespace transload
