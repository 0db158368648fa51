// Proof that a run moved the right bytes: fills, poisons and compares the memory of all ranks.
//
// Before a run every source element gets a value that follows from its tensor's name and its global
// index (executor/pattern.h); destinations, staging and guard bytes get poison. After it every
// destination element must hold the value of its source, bit for bit, every source element must be
// as it was, every zero fill must be zero, and every byte that is none of these must still be
// poison. All on the pool, at memory speed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "executor/engine/thread_pool.h"
#include "executor/host/memory.h"
#include "executor/zero_fills.h"
#include "planner/schedule/runs.h"

namespace transload {

struct VerifyReport {
  std::uint64_t verified_bytes = 0;  // of destination elements
  // Bytes of wrong elements on either side, bytes of zero fills that are not zero, and changed
  // bytes that belong to neither. 0: all is well.
  std::uint64_t mismatched_bytes = 0;
  // In words: the first wrong element of each tensor and side, each buffer with wrong padding, each
  // changed buffer and guard; the first few.
  std::vector<std::string> mismatches;
};

class Verifier {
 public:
  // All three must outlive the verifier.
  Verifier(const Plan& plan, const HostMemory& memory, ThreadPool& pool);

  // Once, before the first run.
  void fill_sources();
  // Before each run that is to be checked: destination buffers, staging and all guard bytes.
  void poison_destinations();
  // After a run. Leaves sources as they were filled; destination elements and fills may be poison
  // again.
  VerifyReport check();

 private:
  // A part of the elements of a shard row: first .. last - 1 in the order of for_each_element_run.
  // Large rows are cut so that all threads have work.
  struct ShardPart {
    std::int32_t rank;
    std::uint64_t row;
    std::uint64_t first;
    std::uint64_t last;
  };
  struct Wrong {
    std::uint64_t elements = 0;
    ElementRun first{};  // its `count` is 1
    std::int32_t rank = 0;
  };
  using WrongTensors = std::map<std::uint32_t, Wrong>;

  Side side_of(std::uint64_t row) const { return static_cast<Side>(plan_.shard_side[row]); }
  std::uint64_t element_bytes(std::uint32_t tensor) const;
  std::uint64_t box_bytes(std::uint64_t row) const;  // of one tensor of the row
  bool is_loose(std::int32_t rank, std::uint64_t row) const;
  void list_parts();
  void list_loose_buffers();
  void fill_part(const ShardPart& part) const;
  void check_part(const ShardPart& part, WrongTensors& wrong) const;
  void check_elements(Side side, VerifyReport& report) const;
  void check_fills(VerifyReport& report) const;
  void poison_loose_elements(std::int32_t rank) const;
  void check_loose_buffers(VerifyReport& report) const;
  void check_guards(VerifyReport& report) const;
  std::string describe(const Wrong& wrong, Side side) const;
  template <class Visit>
  void for_each_part_run(const ShardPart& part, Visit&& visit) const;
  template <class Visit>
  void for_each_buffer(Visit&& visit) const;

  const Plan& plan_;
  const HostMemory& memory_;
  ThreadPool& pool_;
  ZeroFills fills_;
  std::vector<std::uint64_t> seeds_;  // per tensor; another name has its tensor's
  std::vector<ShardPart> parts_;      // by rank, row, element
  // Per rank and buffer: 1 if its elements do not cover it exactly. Such a buffer's other bytes are
  // checked.
  std::vector<std::vector<std::uint8_t>> loose_;
  std::vector<std::int32_t> loose_ranks_;
};

}  // namespace transload
