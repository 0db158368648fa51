#include "executor/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "common/dtype.h"
#include "executor/pattern.h"
#include "executor/poison.h"
#include "planner/schedule/access.h"

namespace transload {
namespace {

constexpr std::uint64_t kPartBytes = std::uint64_t{16} << 20;
// A part walks its row's runs up to its own; few parts keep that cheap where runs are short.
constexpr std::uint64_t kMostParts = 8;
constexpr std::size_t kMostSentences = 20;

void say(VerifyReport& report, std::string sentence) {
  if (report.mismatches.size() < kMostSentences) report.mismatches.push_back(std::move(sentence));
}

}  // namespace

Verifier::Verifier(const Plan& plan, const HostMemory& memory, ThreadPool& pool)
    : plan_(plan), memory_(memory), pool_(pool), fills_(plan, memory) {
  for (std::uint32_t t = 0; t < plan.tensors(); ++t)
    seeds_.push_back(tensor_seed(tensor_name(plan, plan.tensor_source[t])));
  list_parts();
  list_loose_buffers();
}

std::uint64_t Verifier::element_bytes(std::uint32_t tensor) const {
  return static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(plan_.tensor_dtype[tensor]))) / 8;
}

std::uint64_t Verifier::box_bytes(std::uint64_t row) const {
  const std::uint32_t tensor = plan_.shard_tensor_first[row];
  std::uint64_t bytes = element_bytes(tensor);
  const auto bounds = box_bounds(plan_, plan_.shard_box[row], plan_.tensor_dims[tensor]);
  for (std::size_t d = 0; d < bounds.size(); d += 2)
    bytes *= static_cast<std::uint64_t>(bounds[d + 1] - bounds[d]);
  return bytes;
}

template <class Visit>
void Verifier::for_each_buffer(Visit&& visit) const {
  for (std::size_t rank = 0; rank < memory_.ranks(); ++rank)
    for (const HostBufferRow& row : memory_.layout(static_cast<std::int32_t>(rank)).rows)
      for (std::uint32_t i = 0; i < row.count; ++i)
        visit(static_cast<std::int32_t>(rank), row, row.index + i);
}

void Verifier::list_parts() {
  for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
    if (!memory_.has(static_cast<std::int32_t>(rank))) continue;
    for (std::uint64_t row = plan_.rank_shard_first[rank]; row < plan_.rank_shard_first[rank + 1];
         ++row) {
      const std::uint64_t bytes = box_bytes(row) * plan_.shard_tensor_count[row];
      const std::uint64_t elements = bytes / element_bytes(plan_.shard_tensor_first[row]);
      const std::uint64_t parts = std::clamp<std::uint64_t>(bytes / kPartBytes, 1, kMostParts);
      const std::uint64_t share = (elements + parts - 1) / parts;
      for (std::uint64_t first = 0; first < elements; first += share)
        parts_.push_back(
            {static_cast<std::int32_t>(rank), row, first, std::min(first + share, elements)});
    }
  }
}

void Verifier::list_loose_buffers() {
  std::vector<std::vector<std::uint64_t>> covered(plan_.ranks());
  loose_.resize(plan_.ranks());
  for_each_buffer([&](std::int32_t rank, const HostBufferRow&, std::uint32_t number) {
    covered[static_cast<std::size_t>(rank)].resize(number + 1, 0);
    loose_[static_cast<std::size_t>(rank)].resize(number + 1, 0);
  });
  for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
    if (!memory_.has(static_cast<std::int32_t>(rank))) continue;
    for (std::uint64_t row = plan_.rank_shard_first[rank]; row < plan_.rank_shard_first[rank + 1];
         ++row) {
      const std::uint64_t bytes = box_bytes(row);
      for (std::uint32_t i = 0; i < plan_.shard_tensor_count[row]; ++i)
        covered[rank][plan_.shard_buffer[row] + i / plan_.shard_inner_count[row]] += bytes;
    }
  }
  for_each_buffer([&](std::int32_t rank, const HostBufferRow& row, std::uint32_t number) {
    const auto r = static_cast<std::size_t>(rank);
    if (covered[r][number] == row.bytes) return;
    loose_[r][number] = 1;
    if (loose_ranks_.empty() || loose_ranks_.back() != rank) loose_ranks_.push_back(rank);
  });
}

template <class Visit>
void Verifier::for_each_part_run(const ShardPart& part, Visit&& visit) const {
  const std::uint64_t bytes = element_bytes(plan_.shard_tensor_first[part.row]);
  std::uint64_t at = 0;
  for_each_element_run(plan_, part.row, part.rank, [&](const ElementRun& run) {
    const std::uint64_t from = std::max(at, part.first);
    const std::uint64_t to = std::min(at + run.count, part.last);
    if (from < to)
      visit(ElementRun{run.tensor, run.element + (from - at), to - from, run.buffer,
                       run.offset + (from - at) * bytes},
            memory_.buffer(part.rank, run.buffer) + run.offset + (from - at) * bytes, bytes);
    at += run.count;
  });
}

void Verifier::fill_part(const ShardPart& part) const {
  for_each_part_run(part, [&](const ElementRun& run, std::byte* at, std::uint64_t bytes) {
    fill_elements(at, seeds_[run.tensor], run.element, run.count, bytes);
  });
}

void Verifier::fill_sources() {
  std::vector<PoisonBlock> blocks;
  for_each_buffer([&](std::int32_t rank, const HostBufferRow& row, std::uint32_t number) {
    if (static_cast<Side>(plan_.buffer_side[row.row]) == Side::kSource &&
        loose_[static_cast<std::size_t>(rank)][number])
      blocks.push_back(buffer_block(rank, row, number));
  });
  write_poison(memory_, pool_, blocks);
  pool_.for_each(parts_.size(), [&](std::size_t i) {
    if (side_of(parts_[i].row) == Side::kSource) fill_part(parts_[i]);
  });
}

void Verifier::poison_destinations() {
  std::vector<PoisonBlock> blocks;
  for_each_buffer([&](std::int32_t rank, const HostBufferRow& row, std::uint32_t number) {
    if (static_cast<Side>(plan_.buffer_side[row.row]) == Side::kDestination)
      blocks.push_back(buffer_block(rank, row, number));
  });
  for (std::size_t rank = 0; rank < memory_.ranks(); ++rank) {
    const auto r = static_cast<std::int32_t>(rank);
    for (const PoisonBlock& block : arena_blocks(memory_, r)) blocks.push_back(block);
    for (const Guard& guard : guards_of(memory_, r)) blocks.push_back(guard.block);
  }
  write_poison(memory_, pool_, blocks);
}

void Verifier::check_part(const ShardPart& part, WrongTensors& wrong) const {
  for_each_part_run(part, [&](const ElementRun& run, const std::byte* at, std::uint64_t bytes) {
    const std::uint64_t seed = seeds_[run.tensor];
    const std::uint64_t count = count_wrong_elements(at, seed, run.element, run.count, bytes);
    if (count == 0) return;
    Wrong& entry = wrong[run.tensor];
    if (entry.elements == 0) {
      std::uint64_t i = 0;
      while (count_wrong_elements(at + i * bytes, seed, run.element + i, 1, bytes) == 0) ++i;
      entry.first = {run.tensor, run.element + i, 1, run.buffer, run.offset + i * bytes};
      entry.rank = part.rank;
    }
    entry.elements += count;
  });
}

std::string Verifier::describe(const Wrong& wrong, Side side) const {
  const ElementRun& element = wrong.first;
  const std::uint64_t bytes = element_bytes(element.tensor);
  const auto shape = tensor_shape(plan_, element.tensor);
  std::vector<std::uint64_t> index(shape.size());
  std::uint64_t rest = element.element;
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = rest % static_cast<std::uint64_t>(shape[d]);
    rest /= static_cast<std::uint64_t>(shape[d]);
  }
  std::uint64_t found = 0;
  std::memcpy(&found, memory_.buffer(wrong.rank, element.buffer) + element.offset, bytes);
  std::uint64_t poison = 0;
  fill_poison({reinterpret_cast<std::byte*>(&poison), bytes},
              buffer_poison(wrong.rank, element.buffer), element.offset);
  std::string how;
  if (side == Side::kSource)
    how = " (the source was changed)";
  else if (found == poison)
    how = " (never written)";
  const std::uint64_t wanted = element_value(seeds_[element.tensor], element.element, bytes);
  return fmt::format(
      "tensor {}, rank {}, element {} [{}]: found {:#x}, expected {:#x}{}; {} {} of "
      "this tensor wrong",
      tensor_name(plan_, element.tensor), wrong.rank, element.element, fmt::join(index, ", "),
      found, wanted, how, wrong.elements, wrong.elements == 1 ? "element" : "elements");
}

void Verifier::check_elements(Side side, VerifyReport& report) const {
  std::vector<WrongTensors> found(parts_.size());
  pool_.for_each(parts_.size(), [&](std::size_t i) {
    if (side_of(parts_[i].row) == side) check_part(parts_[i], found[i]);
  });
  WrongTensors all;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const ShardPart& part = parts_[i];
    if (side == Side::kDestination && side_of(part.row) == side)
      report.verified_bytes +=
          (part.last - part.first) * element_bytes(plan_.shard_tensor_first[part.row]);
    for (const auto& [tensor, wrong] : found[i]) {
      const auto [entry, added] = all.try_emplace(tensor, wrong);
      if (!added) entry->second.elements += wrong.elements;
    }
  }
  for (const auto& [tensor, wrong] : all) {
    report.mismatched_bytes += wrong.elements * element_bytes(tensor);
    say(report, describe(wrong, side));
  }
}

bool Verifier::is_loose(std::int32_t rank, std::uint64_t row) const {
  const auto& loose = loose_[static_cast<std::size_t>(rank)];
  const auto first = loose.begin() + plan_.shard_buffer[row];
  const auto last = first + (plan_.shard_tensor_count[row] - 1) / plan_.shard_inner_count[row];
  return std::find(first, last + 1, 1) != last + 1;
}

void Verifier::poison_loose_elements(std::int32_t rank) const {
  const auto r = static_cast<std::size_t>(rank);
  for (std::uint64_t row = plan_.rank_shard_first[r]; row < plan_.rank_shard_first[r + 1]; ++row) {
    if (!is_loose(rank, row)) continue;
    const std::uint64_t bytes = element_bytes(plan_.shard_tensor_first[row]);
    for_each_element_run(plan_, row, rank, [&](const ElementRun& run) {
      if (loose_[r][run.buffer])
        fill_poison({memory_.buffer(rank, run.buffer) + run.offset, run.count * bytes},
                    buffer_poison(rank, run.buffer), run.offset);
    });
  }
}

void Verifier::check_fills(VerifyReport& report) const {
  for (const ZeroFills::Wrong& wrong : fills_.check(pool_)) {
    report.mismatched_bytes += wrong.bytes;
    say(report, fmt::format("rank {}, buffer {}: {} bytes of padding that must be zero are not",
                            wrong.rank, wrong.buffer, wrong.bytes));
  }
}

// Elements and fills of a loose buffer have been checked: with poison over them, all of it must be
// poison.
// This needs no list of the gaps, which may be as many as the elements.
void Verifier::check_loose_buffers(VerifyReport& report) const {
  pool_.for_each(loose_ranks_.size(),
                 [&](std::size_t i) { poison_loose_elements(loose_ranks_[i]); });
  fills_.poison(pool_);
  for_each_buffer([&](std::int32_t rank, const HostBufferRow& row, std::uint32_t number) {
    if (!loose_[static_cast<std::size_t>(rank)][number]) return;
    const std::uint64_t changed = changed_bytes(memory_, buffer_block(rank, row, number));
    if (changed == 0) return;
    report.mismatched_bytes += changed;
    say(report, fmt::format("rank {}, buffer {}: {} bytes that belong to no tensor were changed",
                            rank, number, changed));
  });
  pool_.for_each(parts_.size(), [&](std::size_t i) {
    const ShardPart& part = parts_[i];
    if (side_of(part.row) == Side::kSource && is_loose(part.rank, part.row)) fill_part(part);
  });
}

void Verifier::check_guards(VerifyReport& report) const {
  for (std::size_t rank = 0; rank < memory_.ranks(); ++rank)
    for (const Guard& guard : guards_of(memory_, static_cast<std::int32_t>(rank))) {
      const std::uint64_t changed = changed_bytes(memory_, guard.block);
      if (changed == 0) continue;
      report.mismatched_bytes += changed;
      say(report,
          fmt::format("{} was overwritten ({} bytes)", transload::describe(guard), changed));
    }
}

VerifyReport Verifier::check() {
  VerifyReport report;
  check_elements(Side::kDestination, report);
  check_elements(Side::kSource, report);
  check_fills(report);
  check_loose_buffers(report);
  check_guards(report);
  return report;
}

}  // namespace transload
