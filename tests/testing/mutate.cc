#include "tests/testing/mutate.h"

#include <fmt/format.h>

#include <algorithm>

namespace transload::testing {
namespace {

class Mutator {
 public:
  Mutator(const Plan& plan, std::mt19937_64& random)
      : plan_(plan), tables_(thaw_plan(plan)), random_(random) {}

  std::optional<Mutation> mutate() {
    std::string description;
    switch (draw(9)) {
      case 0:
        description = swap_slices();
        break;
      case 1:
        description = drop_operation();
        break;
      case 2:
        description = shift_slice();
        break;
      case 3:
        description = shift_shard();
        break;
      case 4:
        description = draw(2) == 0 ? swap_keys() : swap_places();
        break;
      case 5:
        description = move_in_buffer();
        break;
      case 6:
        description = change_fill();
        break;
      case 7:
        description = change_source();
        break;
      default:
        description = move_slot();
        break;
    }
    if (description.empty()) return std::nullopt;
    return Mutation{std::move(tables_), std::move(description)};
  }

 private:
  // The modulo's bias does not matter; std distributions differ between libraries.
  std::size_t draw(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  // Two different numbers below `count`.
  std::pair<std::size_t, std::size_t> draw_two(std::size_t count) {
    const std::size_t a = draw(count);
    const std::size_t b = (a + 1 + draw(count - 1)) % count;
    return {a, b};
  }

  std::string swap_slices() {
    if (tables_.slice_box.size() < 2) return {};
    const auto [a, b] = draw_two(tables_.slice_box.size());
    std::swap(tables_.slice_tensor_first[a], tables_.slice_tensor_first[b]);
    std::swap(tables_.slice_tensor_count[a], tables_.slice_tensor_count[b]);
    std::swap(tables_.slice_tensor_step[a], tables_.slice_tensor_step[b]);
    std::swap(tables_.slice_box[a], tables_.slice_box[b]);
    return fmt::format("slices {} and {} swapped", a, b);
  }

  static bool is_op_row(std::string_view name) {
    return name.starts_with("op_") && !name.starts_with("op_after") &&
           !name.starts_with("op_stream");
  }

  // Rebuilds an edge table: operation i takes the edges of old operation `old[i]`, whose
  // predecessors are renumbered by `number` (kGone: dropped).
  static constexpr OpId kGone = UINT32_MAX;
  static void renumber(std::vector<std::uint64_t>& first, std::vector<OpId>& edges,
                       const std::vector<OpId>& old, const std::vector<OpId>& number) {
    std::vector<std::uint64_t> new_first{0};
    std::vector<OpId> new_edges;
    for (const OpId op : old) {
      for (std::uint64_t i = first[op]; i < first[op + 1]; ++i)
        if (number[edges[i]] != kGone) new_edges.push_back(number[edges[i]]);
      std::sort(new_edges.begin() + static_cast<std::ptrdiff_t>(new_first.back()), new_edges.end());
      new_first.push_back(new_edges.size());
    }
    first = std::move(new_first);
    edges = std::move(new_edges);
  }

  void renumber_programs(const std::vector<OpId>& number) {
    std::vector<std::uint64_t> first{0};
    std::vector<OpId> ops;
    for (std::size_t rank = 0; rank + 1 < tables_.rank_op_first.size(); ++rank) {
      for (std::uint64_t i = tables_.rank_op_first[rank]; i < tables_.rank_op_first[rank + 1]; ++i)
        if (number[tables_.rank_op[i]] != kGone) ops.push_back(number[tables_.rank_op[i]]);
      std::sort(ops.begin() + static_cast<std::ptrdiff_t>(first.back()), ops.end());
      first.push_back(ops.size());
    }
    tables_.rank_op_first = std::move(first);
    tables_.rank_op = std::move(ops);
  }

  std::string drop_operation() {
    const std::size_t count = plan_.operations();
    if (count == 0) return {};
    const auto gone = static_cast<OpId>(draw(count));
    std::vector<OpId> old;
    std::vector<OpId> number(count, kGone);
    for (OpId op = 0; op < count; ++op) {
      if (op == gone) continue;
      number[op] = static_cast<OpId>(old.size());
      old.push_back(op);
    }
    PlanTables::visit_columns(tables_, [&](std::string_view name, auto& column) {
      if (is_op_row(name)) column.erase(column.begin() + static_cast<std::ptrdiff_t>(gone));
    });
    renumber(tables_.op_after_first, tables_.op_after, old, number);
    renumber(tables_.op_stream_first, tables_.op_stream, old, number);
    renumber_programs(number);
    return fmt::format("operation {} dropped", gone);
  }

  // A box of its own moved by one, if it has room in the shapes that it must fit. 0: no room.
  std::string shift(std::string_view what, std::size_t row, std::uint32_t tensor,
                    std::uint64_t& box) {
    const std::size_t dims = tables_.tensor_dims[tensor];
    if (dims == 0) return {};
    const std::size_t dim = draw(dims);
    const std::int64_t by = draw(2) == 0 ? 1 : -1;
    const std::int64_t lo = tables_.bounds[box + 2 * dim] + by;
    const std::int64_t hi = tables_.bounds[box + 2 * dim + 1] + by;
    if (lo < 0 || hi > tables_.extents[tables_.tensor_shape[tensor] + dim]) return {};
    const std::vector<std::int64_t> moved(
        tables_.bounds.begin() + static_cast<std::ptrdiff_t>(box),
        tables_.bounds.begin() + static_cast<std::ptrdiff_t>(box + 2 * dims));
    box = tables_.bounds.size();
    tables_.bounds.insert(tables_.bounds.end(), moved.begin(), moved.end());
    tables_.bounds[box + 2 * dim] = lo;
    tables_.bounds[box + 2 * dim + 1] = hi;
    return fmt::format("box of {} {} moved by {} along dimension {}", what, row, by, dim);
  }

  std::string shift_slice() {
    if (tables_.slice_box.empty()) return {};
    const std::size_t row = draw(tables_.slice_box.size());
    return shift("slice", row, tables_.slice_tensor_first[row], tables_.slice_box[row]);
  }

  std::string shift_shard() {
    if (tables_.shard_box.empty()) return {};
    const std::size_t row = draw(tables_.shard_box.size());
    return shift("shard row", row, tables_.shard_tensor_first[row], tables_.shard_box[row]);
  }

  // Sources may share memory, so only destinations move.
  std::string move_in_buffer() {
    if (tables_.shard_box.empty()) return {};
    const std::size_t row = draw(tables_.shard_box.size());
    if (static_cast<Side>(tables_.shard_side[row]) != Side::kDestination) return {};
    const auto bits = static_cast<std::int64_t>(8 * 2 * (1 + draw(8)));
    const auto at = static_cast<std::int64_t>(tables_.shard_bit_offset[row]);
    const std::int64_t moved = draw(2) == 0 ? at + bits : at - bits;
    if (moved < 0) return {};
    tables_.shard_bit_offset[row] = static_cast<std::uint64_t>(moved);
    return fmt::format("shard row {} moved from bit {} of its buffer to bit {}", row, at, moved);
  }

  std::string change_fill() {
    if (tables_.fill_offset.empty()) return {};
    const std::size_t row = draw(tables_.fill_offset.size());
    auto& column = draw(2) == 0 ? tables_.fill_offset : tables_.fill_bytes;
    const std::uint64_t by = 1 + draw(8);
    const bool longer = draw(2) == 0;
    if (!longer && column[row] < by) return {};
    column[row] += longer ? by : -by;
    return fmt::format("{} of fill {} changed to {}",
                       &column == &tables_.fill_offset ? "offset" : "bytes", row, column[row]);
  }

  // Mostly of tensors that are other names already: the others have source shards of their own.
  std::string change_source() {
    std::vector<std::uint32_t> tensors;
    for (std::uint32_t t = 0; t < tables_.tensor_source.size(); ++t)
      if (tables_.tensor_source[t] != t || draw(8) == 0) tensors.push_back(t);
    if (tensors.empty()) return {};
    const std::uint32_t tensor = tensors[draw(tensors.size())];
    const auto source = static_cast<std::uint32_t>(draw(tensor + 1));
    if (tables_.tensor_source[tensor] == source) return {};
    tables_.tensor_source[tensor] = source;
    return fmt::format("tensor {} made another name of tensor {}", tensor, source);
  }

  std::string swap_keys() {
    if (plan_.operations() < 2) return {};
    const auto [a, b] = draw_two(plan_.operations());
    std::swap(tables_.op_key[a], tables_.op_key[b]);
    return fmt::format("keys of operations {} and {} swapped", a, b);
  }

  // The two operations change places in the order; ids follow.
  std::string swap_places() {
    if (plan_.operations() < 2) return {};
    const auto [a, b] = draw_two(plan_.operations());
    std::vector<OpId> number(plan_.operations());
    for (OpId op = 0; op < number.size(); ++op) number[op] = op;
    std::swap(number[a], number[b]);
    PlanTables::visit_columns(tables_, [&, x = a, y = b](std::string_view name, auto& column) {
      if (is_op_row(name) && name != "op_key") std::swap(column[x], column[y]);
    });
    // A transposition is its own inverse: `number` is both old and new.
    renumber(tables_.op_after_first, tables_.op_after, number, number);
    renumber(tables_.op_stream_first, tables_.op_stream, number, number);
    renumber_programs(number);
    return fmt::format("operations {} and {} change places", a, b);
  }

  std::string move_slot() {
    if (plan_.operations() == 0) return {};
    const std::size_t op = draw(plan_.operations());
    const bool source = draw(2) == 0;
    std::int32_t& slot = source ? tables_.op_source_slot[op] : tables_.op_destination_slot[op];
    if (slot < 0) return {};
    const auto rank =
        static_cast<std::size_t>(source ? tables_.op_source[op] : tables_.op_destination[op]);
    std::uint32_t slots = 0;
    for (std::size_t c = 0; c < kSlotClasses; ++c)
      slots += tables_.staging_slots[rank * kSlotClasses + c];
    if (slots < 2) return {};
    const std::int32_t from = slot;
    slot =
        static_cast<std::int32_t>((static_cast<std::size_t>(slot) + 1 + draw(slots - 1)) % slots);
    return fmt::format("{} slot of operation {} moved from {} to {}",
                       source ? "source" : "destination", op, from, slot);
  }

  const Plan& plan_;
  PlanTables tables_;
  std::mt19937_64& random_;
};

}  // namespace

std::optional<Mutation> mutate(const Plan& plan, std::mt19937_64& random) {
  return Mutator(plan, random).mutate();
}

}  // namespace transload::testing
