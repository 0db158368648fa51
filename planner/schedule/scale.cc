#include "planner/schedule/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/check.h"
#include "common/dtype.h"
#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/scale_fills.h"
#include "planner/schedule/scale_groups.h"

namespace transload {
namespace {

class Scaler {
 public:
  Scaler(const Plan& plan, std::uint64_t target)
      : plan_(plan), tables_(thaw_plan(plan)), groups_(find_scale_groups(plan)) {
    for (std::size_t g = 0; g < groups_.divisible.size(); ++g)
      factors_.push_back(choose_factors(groups_.divisible[g], groups_.unsharded[g], target));
  }

  Plan scale() {
    tables_.extents.clear();
    tables_.bounds.clear();
    scale_shapes();
    scale_boxes();
    scale_memory();
    scale_bundles();
    scale_operations();
    size_slots();
    return seal_plan(scaled_header(), tables_);
  }

 private:
  std::int64_t factor(std::uint32_t component, std::size_t dim) const {
    const std::size_t step =
        static_cast<std::size_t>(groups_.dims_of_component[component]) - 1 - dim;
    const auto& factors = factors_[groups_.group_of_component[component]];
    return step < factors.size() ? factors[step] : 1;
  }

  void scale_shapes() {
    std::map<std::vector<std::int64_t>, std::uint64_t> known;
    for (std::uint32_t t = 0; t < plan_.tensors(); ++t) {
      const auto shape = tensor_shape(plan_, t);
      std::vector<std::int64_t> scaled(shape.begin(), shape.end());
      for (std::size_t d = 0; d < scaled.size(); ++d)
        scaled[d] /= factor(groups_.component_of_tensor[t], d);
      tables_.tensor_shape[t] = intern(scaled, tables_.extents, known);
    }
  }

  static std::uint64_t intern(const std::vector<std::int64_t>& values,
                              std::vector<std::int64_t>& table,
                              std::map<std::vector<std::int64_t>, std::uint64_t>& known) {
    const auto [entry, added] = known.try_emplace(values, table.size());
    if (added) table.insert(table.end(), values.begin(), values.end());
    return entry->second;
  }

  void scale_boxes() {
    std::map<std::vector<std::int64_t>, std::uint64_t> known;
    const auto scaled_box = [&](std::uint32_t tensor, std::uint64_t box) {
      const auto old = box_bounds(plan_, box, plan_.tensor_dims[tensor]);
      std::vector<std::int64_t> bounds(old.begin(), old.end());
      for (std::size_t i = 0; i < bounds.size(); ++i)
        bounds[i] /= factor(groups_.component_of_tensor[tensor], i / 2);
      return intern(bounds, tables_.bounds, known);
    };
    for (std::size_t i = 0; i < plan_.shard_box.size(); ++i)
      tables_.shard_box[i] = scaled_box(plan_.shard_tensor_first[i], plan_.shard_box[i]);
    for (std::size_t i = 0; i < plan_.slice_box.size(); ++i)
      tables_.slice_box[i] = scaled_box(plan_.slice_tensor_first[i], plan_.slice_box[i]);
  }

  void scale_memory() {
    std::vector<std::uint64_t> sized(plan_.buffer_bytes.size(), 0);
    std::vector<bool> touched(plan_.buffer_bytes.size(), false);
    for (const BufferSet& set : groups_.sets) scale_set(set, sized, touched);
    for (std::size_t b = 0; b < sized.size(); ++b)
      if (touched[b]) tables_.buffer_bytes[b] = sized[b];
    for (ScaledRow& row : groups_.rows)
      if (row.empty) scale_lengths(row);
    write_rows();
    write_fills();
  }

  void scale_lengths(ScaledRow& row) {
    for (int dim = 0; dim < groups_.dims_of_component[row.component]; ++dim)
      digit_of(row, dim)->length /= factor(row.component, static_cast<std::size_t>(dim));
  }

  // All views of the set's buffers, step by step; and the buffers with them.
  void scale_set(const BufferSet& set, std::vector<std::uint64_t>& sized,
                 std::vector<bool>& touched) {
    struct Division {
      std::int64_t period;
      std::int64_t factor;
    };
    if (set.rows.empty()) return;
    std::vector<ScaledRow*> views;
    for (const std::size_t row : set.rows) views.push_back(&groups_.rows[row]);
    for (const std::size_t fill : set.fills) views.push_back(&groups_.fills[fill]);
    std::vector<Division> divisions;
    const std::uint32_t group = groups_.group_of_component[groups_.rows[set.rows[0]].component];
    for (std::size_t step = 0; step < factors_[group].size(); ++step) {
      const std::int64_t by = factors_[group][step];
      if (by == 1) continue;
      for (ScaledRow* view : views) {
        ScaledRow& row = *view;
        ScaledLoop* digit = digit_of(row, groups_.dim_of_step(row.component, step));
        const std::int64_t period = digit->stride_bits;
        if (view == views[0]) divisions.push_back({period, by});
        TRANSLOAD_CHECK(divisions.back().period == period && digit->length % by == 0,
                        "views of one buffer scale alike");
        digit->length /= by;
        for (ScaledLoop& loop : row.loops)
          if (&loop != digit && loop.length > 1 && loop.stride_bits > period)
            loop.stride_bits /= by;
        row.offset_bits = row.offset_bits / period / by * period + row.offset_bits % period;
      }
    }
    const std::size_t last = plan_.rank_buffer_first[set.rank + 1];
    const auto rows_of_rank = plan_.buffer_index.subspan(plan_.rank_buffer_first[set.rank],
                                                         last - plan_.rank_buffer_first[set.rank]);
    // The last row that begins at or before the set's first buffer.
    const auto from = std::upper_bound(rows_of_rank.begin(), rows_of_rank.end(), set.first_buffer);
    for (auto b = plan_.rank_buffer_first[set.rank] +
                  static_cast<std::size_t>(from - rows_of_rank.begin()) - 1;
         b < last && plan_.buffer_index[b] < set.end_buffer; ++b) {
      std::uint64_t bits = plan_.buffer_bytes[b] * 8;
      for (const Division& division : divisions) {
        const auto period = static_cast<std::uint64_t>(division.period);
        const std::uint64_t whole = period * static_cast<std::uint64_t>(division.factor);
        bits = (bits + whole - 1) / whole * period;
      }
      std::uint64_t bytes = bits / 8;
      for (const ScaledRow* view : views) bytes = std::max(bytes, end_of(*view));
      sized[b] = std::max(sized[b], bytes);
      touched[b] = true;
    }
  }

  static std::uint64_t end_of(const ScaledRow& row) {
    std::int64_t end = row.offset_bits + row.element_bits;
    for (const ScaledLoop& loop : row.loops) end += (loop.length - 1) * loop.stride_bits;
    return static_cast<std::uint64_t>(end / 8);
  }

  void write_rows() {
    tables_.loop_dim.clear();
    tables_.loop_length.clear();
    tables_.loop_stride_bits.clear();
    for (const ScaledRow& row : groups_.rows) {
      tables_.shard_bit_offset[row.row] = static_cast<std::uint64_t>(row.offset_bits);
      tables_.shard_inner_bits[row.row] = static_cast<std::uint64_t>(row.loops[0].stride_bits);
      tables_.shard_loop_first[row.row] = static_cast<std::uint32_t>(tables_.loop_dim.size());
      for (std::size_t l = 1; l < row.loops.size(); ++l) {
        tables_.loop_dim.push_back(static_cast<std::uint8_t>(row.loops[l].dim));
        tables_.loop_length.push_back(row.loops[l].length);
        tables_.loop_stride_bits.push_back(row.loops[l].stride_bits);
      }
    }
  }

  void write_fills() {
    tables_.fill_buffer.clear();
    tables_.fill_buffer_count.clear();
    tables_.fill_offset.clear();
    tables_.fill_bytes.clear();
    std::size_t fill = 0;
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      for (; fill < groups_.fills.size() && groups_.patterns[fill].rank == rank; ++fill)
        write_fill(groups_.patterns[fill], groups_.fills[fill], tables_);
      tables_.rank_fill_first[rank + 1] = tables_.fill_buffer.size();
    }
  }

  // Bytes of one tensor's box of a slice.
  static std::uint64_t box_bytes(const PlanTables& tables, std::size_t slice) {
    const std::uint32_t tensor = tables.slice_tensor_first[slice];
    auto bytes =
        static_cast<std::uint64_t>(dtype_bits(static_cast<DType>(tables.tensor_dtype[tensor])) / 8);
    for (std::size_t d = 0; d < tables.tensor_dims[tensor]; ++d)
      bytes *= static_cast<std::uint64_t>(tables.bounds[tables.slice_box[slice] + 2 * d + 1] -
                                          tables.bounds[tables.slice_box[slice] + 2 * d]);
    return bytes;
  }
  std::uint64_t old_box_bytes(std::size_t slice) const {
    const std::uint32_t tensor = plan_.slice_tensor_first[slice];
    auto bytes = box_bytes(tables_, slice);
    for (std::size_t d = 0; d < plan_.tensor_dims[tensor]; ++d)
      bytes *= static_cast<std::uint64_t>(factor(groups_.component_of_tensor[tensor], d));
    return bytes;
  }

  void scale_bundles() {
    const std::size_t slices = plan_.slice_box.size();
    old_box_.resize(slices);
    new_box_.resize(slices);
    old_start_.resize(slices);
    new_start_.resize(slices);
    for (std::size_t b = 0; b < plan_.bundles(); ++b) {
      std::uint64_t old_at = 0;
      std::uint64_t new_at = 0;
      for (std::size_t s = plan_.bundle_slice_first[b]; s < plan_.bundle_slice_first[b + 1]; ++s) {
        old_box_[s] = old_box_bytes(s);
        new_box_[s] = box_bytes(tables_, s);
        old_start_[s] = old_at;
        new_start_[s] = new_at;
        old_at += old_box_[s] * plan_.slice_tensor_count[s];
        new_at += new_box_[s] * plan_.slice_tensor_count[s];
      }
      tables_.bundle_bytes[b] = new_at;
    }
  }

  // Where a byte of the packed order goes: in proportion within its box, down to a whole element.
  // Equal positions stay equal and order is kept, so ranges that tiled a bundle still do.
  std::uint64_t scaled_position(std::size_t bundle, std::uint64_t position) const {
    if (position >= plan_.bundle_bytes[bundle]) return tables_.bundle_bytes[bundle];
    const auto first =
        old_start_.begin() + static_cast<std::ptrdiff_t>(plan_.bundle_slice_first[bundle]);
    const auto last =
        old_start_.begin() + static_cast<std::ptrdiff_t>(plan_.bundle_slice_first[bundle + 1]);
    // The last slice that starts at or before the position; it is not empty.
    const auto slice =
        static_cast<std::size_t>(std::upper_bound(first, last, position) - old_start_.begin() - 1);
    const std::uint64_t inside = position - old_start_[slice];
    const std::uint64_t tensor = inside / old_box_[slice];
    const auto element = static_cast<std::uint64_t>(
        dtype_bits(static_cast<DType>(plan_.tensor_dtype[plan_.slice_tensor_first[slice]])) / 8);
    const auto offset =
        static_cast<std::uint64_t>(static_cast<unsigned __int128>(inside % old_box_[slice]) *
                                   new_box_[slice] / old_box_[slice]);
    return new_start_[slice] + tensor * new_box_[slice] + offset / element * element;
  }

  void scale_operations() {
    for (OpId op = 0; op < plan_.operations(); ++op) {
      const OpKind kind = op_kind(plan_, op);
      if (kind != OpKind::kCopy && kind != OpKind::kTransfer) continue;
      const auto bundle = static_cast<std::size_t>(plan_.op_bundle[op]);
      const std::uint64_t begin = scaled_position(bundle, plan_.op_begin[op]);
      const std::uint64_t end = scaled_position(bundle, plan_.op_begin[op] + plan_.op_bytes[op]);
      tables_.op_begin[op] = begin;
      tables_.op_bytes[op] = end - begin;
      tables_.op_run_bytes[op] = scaled_run(op, bundle);
    }
  }

  // Runs lie along the last dimension, so they shrink with it.
  std::uint32_t scaled_run(OpId op, std::size_t bundle) const {
    const std::uint32_t run = plan_.op_run_bytes[op];
    const std::uint64_t slice = plan_.bundle_slice_first[bundle];
    if (run == 0 || slice == plan_.bundle_slice_first[bundle + 1]) return run;
    const std::uint32_t tensor = plan_.slice_tensor_first[slice];
    const std::size_t dims = plan_.tensor_dims[tensor];
    const std::int64_t by = dims == 0 ? 1 : factor(groups_.component_of_tensor[tensor], dims - 1);
    return std::max<std::uint32_t>(1, static_cast<std::uint32_t>(run / by));
  }

  // Every class of slots is as large as its largest use.
  void size_slots() {
    std::vector<std::uint64_t> needed(plan_.staging_slot_bytes.size(), 0);
    const auto use = [&](OpId op, std::int32_t rank, std::int32_t slot) {
      if (slot < 0) return;
      const std::size_t base = static_cast<std::size_t>(rank) * kSlotClasses;
      std::int64_t left = slot;
      std::size_t c = 0;
      while (c + 1 < kSlotClasses && left >= plan_.staging_slots[base + c])
        left -= plan_.staging_slots[base + c++];
      const bool bucket = c == static_cast<std::size_t>(SlotClass::kBucket);
      needed[base + c] =
          std::max(needed[base + c], tables_.op_bytes[op] + (bucket ? tables_.op_begin[op] : 0));
    };
    for (OpId op = 0; op < plan_.operations(); ++op) {
      const OpKind kind = op_kind(plan_, op);
      if (kind != OpKind::kCopy && kind != OpKind::kTransfer) continue;
      use(op, plan_.op_source[op], plan_.op_source_slot[op]);
      use(op, plan_.op_destination[op], plan_.op_destination_slot[op]);
    }
    tables_.staging_slot_bytes = std::move(needed);
  }

  PlanHeader scaled_header() const {
    unsigned __int128 old_bytes = 0;
    unsigned __int128 new_bytes = 0;
    std::size_t unscaled = 0;
    for (std::size_t b = 0; b < plan_.bundles(); ++b) {
      old_bytes += plan_.bundle_bytes[b];
      new_bytes += tables_.bundle_bytes[b];
    }
    for (std::uint32_t t = 0; t < plan_.tensors(); ++t)
      unscaled += tables_.tensor_shape[t] < tables_.extents.size() &&
                          std::equal(tensor_shape(plan_, t).begin(), tensor_shape(plan_, t).end(),
                                     tables_.extents.begin() +
                                         static_cast<std::ptrdiff_t>(tables_.tensor_shape[t]))
                      ? 1
                      : 0;
    std::uint64_t reached = 1;
    if (new_bytes > 0 && new_bytes < old_bytes)
      reached = std::max<std::uint64_t>(
          2, static_cast<std::uint64_t>((old_bytes + new_bytes / 2) / new_bytes));
    PlanHeader header = plan_.header();
    header.scale *= reached;
    header.chunk_bytes = std::max<std::uint64_t>(1, header.chunk_bytes / reached);
    if (header.piece_bytes > 0)
      header.piece_bytes = std::max<std::uint64_t>(1, header.piece_bytes / reached);
    if (reached > 1)
      header.assumptions.push_back(fmt::format(
          "scale = {} (lengths divided; {} of {} tensors have no divisor; bounds are those of the "
          "full plan)",
          header.scale, unscaled, plan_.tensors()));
    return header;
  }

  const Plan& plan_;
  PlanTables tables_;
  ScaleGroups groups_;
  std::vector<std::vector<std::int64_t>> factors_;  // per group, per step
  std::vector<std::uint64_t> old_box_;              // bytes of one tensor's box, per slice
  std::vector<std::uint64_t> new_box_;
  std::vector<std::uint64_t> old_start_;  // of the slice in its bundle
  std::vector<std::uint64_t> new_start_;
};

}  // namespace

Plan scale_plan(const Plan& plan, std::uint64_t target) {
  if (target == 0) throw InputError("scale: expected a factor of at least 1, found 0");
  if (target == 1) return plan;
  if (first_convert(plan) != kNone)
    throw InputError("scale: plans with conversions are not scaled by this version");
  return Scaler(plan, target).scale();
}

}  // namespace transload
