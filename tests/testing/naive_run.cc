#include "tests/testing/naive_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "common/dtype.h"
#include "common/hash.h"
#include "planner/schedule/issue.h"

namespace transload::testing {
namespace {

struct Element {
  std::uint32_t tensor;
  std::int64_t index;  // row-major in the whole tensor
  friend auto operator<=>(const Element&, const Element&) = default;
};

struct Place {
  std::uint32_t buffer;
  std::uint64_t offset;
};

struct Wrong {
  std::string what;
};

constexpr std::uint8_t kPoison = 255;

class NaiveRun {
 public:
  NaiveRun(const Plan& plan, std::mt19937_64& random) : plan_(plan), random_(random) {
    for (std::size_t rank = 0; rank < plan.ranks(); ++rank) lay_out_rank(rank);
    for (std::size_t bundle = 0; bundle < plan.bundles(); ++bundle) lay_out_bundle(bundle);
    moving_.resize(plan.operations());
  }

  std::string run() {
    try {
      if (!execute()) return "the run stalled";
      verify();
    } catch (const Wrong& wrong) {
      return wrong.what;
    }
    return {};
  }

 private:
  struct RankMemory {
    std::vector<std::vector<std::uint8_t>> buffers;
    std::vector<std::vector<std::uint8_t>> slots;
    std::vector<bool> is_bucket;
    std::map<Element, std::vector<Place>> source;
    std::map<Element, std::vector<Place>> destination;
  };

  std::uint64_t element_bytes(std::uint32_t tensor) const {
    return static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(plan_.tensor_dtype[tensor])) /
                                      8);
  }

  // Neither zero nor poison.
  std::uint8_t value(const Element& element, std::uint64_t byte) const {
    const std::uint64_t tensor = plan_.tensor_source[element.tensor];
    return static_cast<std::uint8_t>(
        1 + mix64((tensor << 40) + (static_cast<std::uint64_t>(element.index) << 4) + byte) % 254);
  }

  // Calls visit(index in the tensor, coordinates relative to the box) in row-major order.
  template <class Visit>
  void for_each_element(std::uint32_t tensor, std::uint64_t box, Visit&& visit) const {
    const std::size_t dims = plan_.tensor_dims[tensor];
    const auto bounds = box_bounds(plan_, box, static_cast<int>(dims));
    const auto shape = tensor_shape(plan_, tensor);
    for (std::size_t d = 0; d < dims; ++d)
      if (bounds[2 * d] == bounds[2 * d + 1]) return;
    std::vector<std::int64_t> at(dims, 0);
    for (;;) {
      std::int64_t index = 0;
      for (std::size_t d = 0; d < dims; ++d) index = index * shape[d] + bounds[2 * d] + at[d];
      visit(index, at);
      std::size_t d = dims;
      while (d > 0 && ++at[d - 1] == bounds[2 * d - 1] - bounds[2 * d - 2]) at[--d] = 0;
      if (d == 0) return;
    }
  }

  void lay_out_rank(std::size_t rank) {
    RankMemory& memory = memory_.emplace_back();
    for (std::uint64_t i = plan_.rank_buffer_first[rank]; i < plan_.rank_buffer_first[rank + 1];
         ++i)
      for (std::uint32_t k = 0; k < plan_.buffer_count[i]; ++k)
        memory.buffers.emplace_back(plan_.buffer_bytes[i], kPoison);
    for (std::size_t c = 0; c < kSlotClasses; ++c)
      for (std::uint32_t k = 0; k < plan_.staging_slots[rank * kSlotClasses + c]; ++k) {
        memory.slots.emplace_back(plan_.staging_slot_bytes[rank * kSlotClasses + c], kPoison);
        memory.is_bucket.push_back(c == static_cast<std::size_t>(SlotClass::kBucket));
      }
    for (std::uint64_t row = plan_.rank_shard_first[rank]; row < plan_.rank_shard_first[rank + 1];
         ++row)
      for (std::uint32_t i = 0; i < plan_.shard_tensor_count[row]; ++i)
        lay_out_shard(memory, row, i);
    for_each_filled_byte(rank, [&](std::uint32_t buffer, std::uint64_t offset) {
      memory.buffers[buffer][offset] = 0;
    });
  }

  template <class Visit>
  void for_each_filled_byte(std::size_t rank, Visit&& visit) const {
    for (std::uint64_t i = plan_.rank_fill_first[rank]; i < plan_.rank_fill_first[rank + 1]; ++i)
      for (std::uint32_t k = 0; k < plan_.fill_buffer_count[i]; ++k)
        for (std::uint64_t b = 0; b < plan_.fill_bytes[i]; ++b)
          visit(plan_.fill_buffer[i] + k, plan_.fill_offset[i] + b);
  }

  void lay_out_shard(RankMemory& memory, std::uint64_t row, std::uint32_t i) {
    const std::uint32_t tensor = plan_.shard_tensor_first[row] + i;
    const std::uint32_t inner = plan_.shard_inner_count[row];
    const bool source = static_cast<Side>(plan_.shard_side[row]) == Side::kSource;
    for_each_element(tensor, plan_.shard_box[row],
                     [&](std::int64_t index, std::vector<std::int64_t> at) {
                       std::uint64_t bits =
                           plan_.shard_bit_offset[row] + i % inner * plan_.shard_inner_bits[row];
                       // Loops of a dimension are its digits, the last one the lowest.
                       for (std::size_t l = plan_.shard_loops[row]; l-- > 0;) {
                         const std::size_t loop = plan_.shard_loop_first[row] + l;
                         std::int64_t& rest = at[plan_.loop_dim[loop]];
                         bits += static_cast<std::uint64_t>(rest % plan_.loop_length[loop] *
                                                            plan_.loop_stride_bits[loop]);
                         rest /= plan_.loop_length[loop];
                       }
                       const Place place{plan_.shard_buffer[row] + i / inner, bits / 8};
                       const Element element{tensor, index};
                       (source ? memory.source : memory.destination)[element].push_back(place);
                       for (std::uint64_t b = 0; source && b < element_bytes(tensor); ++b)
                         memory.buffers[place.buffer][place.offset + b] = value(element, b);
                     });
  }

  void lay_out_bundle(std::size_t bundle) {
    std::vector<Element>& elements = bundles_.emplace_back();
    std::vector<std::uint64_t>& starts = starts_.emplace_back();
    std::uint64_t at = 0;
    for (std::uint64_t s = plan_.bundle_slice_first[bundle];
         s < plan_.bundle_slice_first[bundle + 1]; ++s)
      for (std::uint32_t i = 0; i < plan_.slice_tensor_count[s]; ++i) {
        const std::uint32_t tensor = plan_.slice_tensor_first[s] + i * plan_.slice_tensor_step[s];
        for_each_element(tensor, plan_.slice_box[s],
                         [&](std::int64_t index, const std::vector<std::int64_t>&) {
                           elements.push_back({tensor, index});
                           starts.push_back(at);
                           at += element_bytes(tensor);
                         });
      }
  }

  // Calls visit(byte of the operation, its places) for every byte of the operation.
  template <class Visit>
  void for_each_byte(OpId op, const Visit& visit) const {
    const auto bundle = static_cast<std::size_t>(plan_.op_bundle[op]);
    for (std::uint64_t b = 0; b < plan_.op_bytes[op]; ++b) {
      const std::uint64_t packed = plan_.op_begin[op] + b;
      const auto next = std::upper_bound(starts_[bundle].begin(), starts_[bundle].end(), packed);
      const auto e = static_cast<std::size_t>(next - starts_[bundle].begin() - 1);
      visit(b, bundles_[bundle][e], packed - starts_[bundle][e]);
    }
  }

  bool moves(OpId op) const {
    return op_kind(plan_, op) == OpKind::kCopy || op_kind(plan_, op) == OpKind::kTransfer;
  }

  std::uint64_t slot_offset(const RankMemory& memory, std::int32_t slot, OpId op) const {
    return memory.is_bucket[static_cast<std::size_t>(slot)] ? plan_.op_begin[op] : 0;
  }

  void read(OpId op) {
    const RankMemory& memory = memory_[static_cast<std::size_t>(plan_.op_source[op])];
    std::vector<std::uint8_t>& bytes = moving_[op];
    bytes.resize(plan_.op_bytes[op]);
    if (const std::int32_t slot = plan_.op_source_slot[op]; slot >= 0) {
      const auto& data = memory.slots[static_cast<std::size_t>(slot)];
      std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(slot_offset(memory, slot, op)),
                  bytes.size(), bytes.begin());
      return;
    }
    for_each_byte(op, [&](std::uint64_t b, const Element& element, std::uint64_t byte) {
      const auto held = memory.source.find({plan_.tensor_source[element.tensor], element.index});
      if (held == memory.source.end())
        throw Wrong{fmt::format("operation {} reads an element that its rank lacks", op)};
      const Place& place = held->second.front();
      bytes[b] = memory.buffers[place.buffer][place.offset + byte];
    });
  }

  void write(OpId op) {
    RankMemory& memory = memory_[static_cast<std::size_t>(plan_.op_destination[op])];
    const std::vector<std::uint8_t>& bytes = moving_[op];
    if (const std::int32_t slot = plan_.op_destination_slot[op]; slot >= 0) {
      auto& data = memory.slots[static_cast<std::size_t>(slot)];
      std::copy(bytes.begin(), bytes.end(),
                data.begin() + static_cast<std::ptrdiff_t>(slot_offset(memory, slot, op)));
      return;
    }
    const std::int32_t from = plan_.op_source_slot[op];
    const bool clipped = op_kind(plan_, op) == OpKind::kCopy && from >= 0 &&
                         memory.is_bucket[static_cast<std::size_t>(from)];
    for_each_byte(op, [&](std::uint64_t b, const Element& element, std::uint64_t byte) {
      const auto wanted = memory.destination.find(element);
      if (wanted == memory.destination.end()) {
        if (clipped) return;
        throw Wrong{fmt::format("operation {} writes an element that its rank does not want", op)};
      }
      for (const Place& place : wanted->second)
        memory.buffers[place.buffer][place.offset + byte] = bytes[b];
    });
  }

  bool execute() {
    IssueState state(plan_);
    std::vector<OpId> ready;
    std::vector<OpId> running;
    std::vector<bool> done(plan_.operations(), false);
    std::vector<bool> reads_late(plan_.operations(), false);
    state.begin(ready);
    while (state.unfinished() > 0) {
      // A stream hop ends no earlier than its upstreams.
      std::vector<std::size_t> may_finish;
      for (std::size_t i = 0; i < running.size(); ++i) {
        const auto upstream = op_stream(plan_, running[i]);
        if (std::all_of(upstream.begin(), upstream.end(), [&](OpId u) { return done[u]; }))
          may_finish.push_back(i);
      }
      const std::size_t choices = ready.size() + may_finish.size();
      if (choices == 0) return false;
      const std::size_t choice = random_() % choices;
      if (choice < ready.size()) {
        const OpId op = ready[choice];
        ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(choice));
        running.push_back(op);
        reads_late[op] = !op_stream(plan_, op).empty() || random_() % 2 == 0;
        if (moves(op) && !reads_late[op]) read(op);
        state.started(op, ready);
      } else {
        const std::size_t at = may_finish[choice - ready.size()];
        const OpId op = running[at];
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
        if (moves(op)) {
          if (reads_late[op]) read(op);
          write(op);
        }
        done[op] = true;
        state.finished(op, ready);
      }
    }
    return true;
  }

  void verify() const {
    for (std::size_t rank = 0; rank < memory_.size(); ++rank) {
      auto expected = memory_[rank].buffers;
      for (std::uint64_t i = plan_.rank_buffer_first[rank]; i < plan_.rank_buffer_first[rank + 1];
           ++i)
        for (std::uint32_t k = 0; k < plan_.buffer_count[i]; ++k)
          if (static_cast<Side>(plan_.buffer_side[i]) == Side::kDestination)
            std::ranges::fill(expected[plan_.buffer_index[i] + k], kPoison);
      for (const auto& [element, places] : memory_[rank].destination)
        for (const Place& place : places)
          for (std::uint64_t b = 0; b < element_bytes(element.tensor); ++b) {
            expected[place.buffer][place.offset + b] = value(element, b);
            if (memory_[rank].buffers[place.buffer][place.offset + b] != value(element, b))
              throw Wrong{fmt::format("rank {} tensor {} element {} is wrong", rank, element.tensor,
                                      element.index)};
          }
      for_each_filled_byte(
          rank, [&](std::uint32_t buffer, std::uint64_t offset) { expected[buffer][offset] = 0; });
      if (memory_[rank].buffers != expected)
        throw Wrong{fmt::format("rank {}: bytes that belong to no element are wrong", rank)};
    }
  }

  const Plan& plan_;
  std::mt19937_64& random_;
  std::vector<RankMemory> memory_;
  std::vector<std::vector<Element>> bundles_;
  std::vector<std::vector<std::uint64_t>> starts_;  // packed byte of each element
  std::vector<std::vector<std::uint8_t>> moving_;
};

}  // namespace

std::string run_naively(const Plan& plan, std::mt19937_64& random) {
  return NaiveRun(plan, random).run();
}

}  // namespace transload::testing
