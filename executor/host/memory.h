// The memory of all ranks in one process: every buffer and staging arena of a plan, at addresses.
//
// One anonymous mapping per rank that takes part (a mapping per buffer would pass the kernel's
// limit of 65,530 at a few hundred ranks); pages that are never touched cost nothing. Guard bytes
// stand before and after every buffer and every staging arena, so that a write past an end is found
// by whoever fills and checks them (executor/verify.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "planner/schedule/hosting.h"
#include "planner/schedule/plan_file.h"

namespace transload {

inline constexpr std::uint64_t kGuardBytes = 64;

// Buffers of equal size, evenly spaced. Offsets count from the rank's mapping.
struct HostBufferRow {
  std::uint64_t row;    // of the plan's buffer table
  std::uint32_t index;  // rank-local number of the first
  std::uint32_t count;
  std::uint64_t bytes;  // of each
  std::uint64_t stride;
  std::uint64_t offset;  // of the first
};

struct HostArena {
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;
  std::uint64_t offset = 0;
};

struct HostLayout {
  std::vector<HostBufferRow> rows;  // by index
  std::array<HostArena, kSlotClasses> arenas;
  std::uint64_t bytes = 0;
};

// Where a rank's buffers and arenas lie; bytes is 0 for a rank that takes no part.
HostLayout host_layout(const Plan& plan, std::int32_t rank);

class HostMemory {
 public:
  // Of the ranks hosted here, of all without `hosting`; the others have no layout. Throws
  // RunFailure if the machine has not enough memory for them.
  explicit HostMemory(const Plan& plan, const Hosting* hosting = nullptr);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::size_t ranks() const { return layouts_.size(); }
  std::size_t active_ranks() const;
  bool has(std::int32_t rank) const { return layout(rank).bytes > 0; }
  const HostLayout& layout(std::int32_t rank) const {
    return layouts_[static_cast<std::size_t>(rank)];
  }

  // Address of a rank's buffer by its rank-local number.
  std::byte* buffer(std::int32_t rank, std::uint32_t index) const;
  std::byte* at(std::int32_t rank, std::uint64_t offset) const {
    return bases_[static_cast<std::size_t>(rank)] + offset;
  }

  struct Slot {
    std::byte* address;
    bool bucket;  // holds a whole bundle's packed order
  };
  Slot slot(std::int32_t rank, std::int32_t number) const;

 private:
  std::vector<HostLayout> layouts_;
  std::vector<std::byte*> bases_;
};

}  // namespace transload
