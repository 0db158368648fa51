// Do strided views into one buffer share a byte? Arithmetic on nested loops, expanded only as a
// last resort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace transload {

struct StrideLoop {
  std::uint64_t length = 1;
  std::uint64_t stride = 0;  // bytes
};

// `run` bytes from `offset` plus every combination of the loops.
struct MemoryLayout {
  std::uint64_t offset = 0;
  std::uint64_t run = 0;
  std::vector<StrideLoop> loops;  // outermost (largest stride) first once normalised
};

// Sorts the loops, drops those of length 1 and merges those that continue one another: equal byte
// sets of dense views become equal layouts.
void normalise(MemoryLayout& layout);

enum class Overlap : std::uint8_t { kDisjoint, kFound, kUndecided };
struct OverlapResult {
  Overlap overlap = Overlap::kDisjoint;
  std::size_t first = 0;  // the two layouts; equal if one overlaps itself
  std::size_t second = 0;
};

// Exact, unless more than 2^24 runs would have to be compared one by one (kUndecided). Layouts are
// normalised. Decides, cheapest first: disjoint hulls; the same question modulo the largest stride
// (disjoint there implies disjoint); sorted runs.
OverlapResult find_memory_overlap(std::span<const MemoryLayout> layouts);

}  // namespace transload
