// The host back end: moves operations' bytes between buffers and slots of HostMemory with memcpy.
//
// Pack gathers the runs of a rank's source shards into a slot, unpack scatters a slot to
// destination shards, a transfer does either or neither on each of its ends.
#pragma once

#include "executor/engine/backend.h"
#include "executor/host/memory.h"
#include "planner/schedule/runs.h"

namespace transload {

class HostBackend : public Backend {
 public:
  // Both must outlive the back end.
  HostBackend(const Plan& plan, const HostMemory& memory) : plan_(plan), memory_(memory) {}

  // InputError if the plan moves elements that a rank does not hold.
  void move(OpId op, std::uint64_t begin, std::uint64_t bytes) override;

  // The two ends of a transfer apart, for a back end whose other end is in another process.
  // Where bytes of the packed order lie on the operation's source or destination rank, if they are
  // one run of memory there; null otherwise.
  std::byte* source_span(OpId op, std::uint64_t begin, std::uint64_t bytes) const;
  std::byte* destination_span(OpId op, std::uint64_t begin, std::uint64_t bytes) const;
  // Copies them out of the source rank's memory, or into the destination rank's.
  void read(OpId op, std::uint64_t begin, std::uint64_t bytes, std::byte* to) const;
  void write(OpId op, std::uint64_t begin, std::uint64_t bytes, const std::byte* from) const;

 private:
  std::byte* span_of(OpId op, Side side, std::uint64_t begin, std::uint64_t bytes) const;
  std::byte* slot_address(OpId op, std::int32_t rank, std::int32_t slot,
                          std::uint64_t packed) const;
  Missing missing_at_destination(OpId op) const;
  void gather(OpId op, std::uint64_t begin, std::uint64_t bytes, std::byte* to) const;
  void scatter(OpId op, std::uint64_t begin, std::uint64_t bytes, const std::byte* from) const;
  void copy_runs(OpId op, std::uint64_t begin, std::uint64_t bytes) const;
  void copy_runs_piece(OpId op, std::uint64_t begin, std::uint64_t bytes) const;

  const Plan& plan_;
  const HostMemory& memory_;
};

}  // namespace transload
