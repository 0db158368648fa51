#include "executor/host/host_backend.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "planner/schedule/access.h"

namespace transload {
namespace {

// From shards to shards, the runs of the source are listed for one piece at a time: few runs, one
// piece.
constexpr std::uint64_t kRunsListed = 1024;
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

// Addresses of a rank's buffers; runs mostly stay in one buffer, so the last one is kept.
class BufferAddresses {
 public:
  BufferAddresses(const HostMemory& memory, std::int32_t rank) : memory_(memory), rank_(rank) {}
  std::byte* of(const Run& run) {
    if (address_ == nullptr || run.buffer != buffer_) {
      buffer_ = run.buffer;
      address_ = memory_.buffer(rank_, buffer_);
    }
    return address_ + run.offset;
  }

 private:
  const HostMemory& memory_;
  std::int32_t rank_;
  std::uint32_t buffer_ = 0;
  std::byte* address_ = nullptr;
};

}  // namespace

std::byte* HostBackend::slot_address(OpId op, std::int32_t rank, std::int32_t slot,
                                     std::uint64_t packed) const {
  const HostMemory::Slot place = memory_.slot(rank, slot);
  return place.address + (place.bucket ? packed : packed - plan_.op_begin[op]);
}

Missing HostBackend::missing_at_destination(OpId op) const {
  const OpRole role = op_role(plan_, op);
  const bool loads = op_kind(plan_, op) == OpKind::kCopy && plan_.op_source_slot[op] >= 0 &&
                     (role == OpRole::kUnpack || role == OpRole::kLoad) &&
                     memory_.slot(plan_.op_source[op], plan_.op_source_slot[op]).bucket;
  return loads ? Missing::kSkip : Missing::kFail;
}

void HostBackend::gather(OpId op, std::uint64_t begin, std::uint64_t bytes, std::byte* to) const {
  BufferAddresses buffers(memory_, plan_.op_source[op]);
  for_each_run(
      plan_, plan_.op_bundle[op], begin, bytes, plan_.op_source[op], Side::kSource, Missing::kFail,
      [&](const Run& run) { std::memcpy(to + (run.packed - begin), buffers.of(run), run.bytes); });
}

void HostBackend::scatter(OpId op, std::uint64_t begin, std::uint64_t bytes,
                          const std::byte* from) const {
  BufferAddresses buffers(memory_, plan_.op_destination[op]);
  for_each_run(plan_, plan_.op_bundle[op], begin, bytes, plan_.op_destination[op],
               Side::kDestination, missing_at_destination(op), [&](const Run& run) {
                 std::memcpy(buffers.of(run), from + (run.packed - begin), run.bytes);
               });
}

void HostBackend::copy_runs(OpId op, std::uint64_t begin, std::uint64_t bytes) const {
  const bool few = count_runs(plan_, plan_.op_bundle[op], begin, bytes, plan_.op_source[op],
                              Side::kSource, Missing::kFail, kRunsListed) < kRunsListed;
  const std::uint64_t piece = few ? bytes : kPieceBytes;
  for (std::uint64_t done = 0; done < bytes; done += piece)
    copy_runs_piece(op, begin + done, std::min(piece, bytes - done));
}

void HostBackend::copy_runs_piece(OpId op, std::uint64_t begin, std::uint64_t bytes) const {
  struct Source {
    std::uint64_t packed;
    std::uint64_t end;
    const std::byte* address;
  };
  std::vector<Source> sources;
  BufferAddresses from(memory_, plan_.op_source[op]);
  for_each_run(plan_, plan_.op_bundle[op], begin, bytes, plan_.op_source[op], Side::kSource,
               Missing::kFail, [&](const Run& run) {
                 sources.push_back({run.packed, run.packed + run.bytes, from.of(run)});
               });
  BufferAddresses to(memory_, plan_.op_destination[op]);
  std::size_t next = 0;  // the first source that ends behind the beginning of the current run
  for_each_run(plan_, plan_.op_bundle[op], begin, bytes, plan_.op_destination[op],
               Side::kDestination, missing_at_destination(op), [&](const Run& run) {
                 std::byte* address = to.of(run);
                 while (sources[next].end <= run.packed) ++next;
                 const std::uint64_t end = run.packed + run.bytes;
                 std::uint64_t at = run.packed;
                 for (std::size_t i = next; at < end; ++i) {
                   const std::uint64_t part = std::min(sources[i].end, end) - at;
                   std::memcpy(address + (at - run.packed),
                               sources[i].address + (at - sources[i].packed), part);
                   at += part;
                 }
               });
}

std::byte* HostBackend::span_of(OpId op, Side side, std::uint64_t begin,
                                std::uint64_t bytes) const {
  const bool source = side == Side::kSource;
  const std::int32_t rank = source ? plan_.op_source[op] : plan_.op_destination[op];
  const std::int32_t slot = source ? plan_.op_source_slot[op] : plan_.op_destination_slot[op];
  if (slot >= 0) return slot_address(op, rank, slot, begin);
  const Missing missing = source ? Missing::kFail : missing_at_destination(op);
  if (count_runs(plan_, plan_.op_bundle[op], begin, bytes, rank, side, missing, 2) != 1)
    return nullptr;
  std::byte* address = nullptr;
  for_each_run(plan_, plan_.op_bundle[op], begin, bytes, rank, side, missing, [&](const Run& run) {
    if (run.bytes == bytes) address = memory_.buffer(rank, run.buffer) + run.offset;
  });
  return address;
}

std::byte* HostBackend::source_span(OpId op, std::uint64_t begin, std::uint64_t bytes) const {
  return span_of(op, Side::kSource, begin, bytes);
}

std::byte* HostBackend::destination_span(OpId op, std::uint64_t begin, std::uint64_t bytes) const {
  return span_of(op, Side::kDestination, begin, bytes);
}

void HostBackend::read(OpId op, std::uint64_t begin, std::uint64_t bytes, std::byte* to) const {
  if (const std::int32_t slot = plan_.op_source_slot[op]; slot >= 0)
    std::memcpy(to, slot_address(op, plan_.op_source[op], slot, begin), bytes);
  else
    gather(op, begin, bytes, to);
}

void HostBackend::write(OpId op, std::uint64_t begin, std::uint64_t bytes,
                        const std::byte* from) const {
  if (const std::int32_t slot = plan_.op_destination_slot[op]; slot >= 0)
    std::memcpy(slot_address(op, plan_.op_destination[op], slot, begin), from, bytes);
  else
    scatter(op, begin, bytes, from);
}

void HostBackend::move(OpId op, std::uint64_t begin, std::uint64_t bytes) {
  const bool from_slot = plan_.op_source_slot[op] >= 0;
  const bool to_slot = plan_.op_destination_slot[op] >= 0;
  if (!from_slot && !to_slot) return copy_runs(op, begin, bytes);
  const std::byte* from =
      from_slot ? slot_address(op, plan_.op_source[op], plan_.op_source_slot[op], begin) : nullptr;
  std::byte* to =
      to_slot ? slot_address(op, plan_.op_destination[op], plan_.op_destination_slot[op], begin)
              : nullptr;
  if (from_slot && to_slot)
    std::memmove(to, from, bytes);  // a wrong plan may name one slot twice
  else if (to_slot)
    gather(op, begin, bytes, to);
  else
    scatter(op, begin, bytes, from);
}

}  // namespace transload
