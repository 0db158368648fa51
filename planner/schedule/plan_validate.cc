#include "planner/schedule/plan_validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/dtype.h"
#include "common/error.h"

namespace transload {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 50;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60;

class Validator {
 public:
  Validator(const Plan& plan, std::string name) : plan_(plan), name_(std::move(name)) {}

  void run() const {
    validate_text_and_tensors();
    validate_ranks();
    validate_buffers();
    validate_shards();
    validate_bundles();
    validate_ports();
    validate_operations();
    validate_programs();
  }

 private:
  [[noreturn]] void fail(std::string_view table, std::size_t row, std::string_view expected) const {
    throw InputError({name_, 0, fmt::format("{} row {}", table, row)},
                     fmt::format("the plan is not well formed: expected {}", expected));
  }

  void same_length(std::string_view table, std::size_t wanted,
                   std::initializer_list<std::size_t> found) const {
    for (std::size_t length : found)
      if (length != wanted) fail(table, length, fmt::format("{} rows", wanted));
  }

  template <class T>
  void csr(std::string_view table, std::span<const T> first, std::size_t rows,
           std::size_t targets) const {
    if (first.size() != rows + 1) fail(table, first.size(), fmt::format("{} offsets", rows + 1));
    if (first[0] != 0) fail(table, 0, "a first offset of 0");
    for (std::size_t i = 0; i < rows; ++i)
      if (first[i] > first[i + 1]) fail(table, i, "rising offsets");
    if (first[rows] != targets) fail(table, rows, fmt::format("a last offset of {}", targets));
  }

  void name_offset(std::string_view table, std::size_t row, std::uint64_t offset) const {
    if (offset >= plan_.names.size()) fail(table, row, "a name inside the text table");
  }

  // A box inside the bounds table and inside the shape of every tensor of the range.
  void box(std::string_view table, std::size_t row, std::uint64_t offset, std::uint32_t first,
           std::uint32_t count, std::uint32_t step) const {
    if (count == 0 || step == 0) fail(table, row, "a range of at least one tensor");
    if (first + static_cast<std::uint64_t>(count - 1) * step >= plan_.tensors())
      fail(table, row, "tensors that exist");
    const std::uint8_t dims = plan_.tensor_dims[first];
    if (offset > plan_.bounds.size() || plan_.bounds.size() - offset < 2u * dims)
      fail(table, row, "a box inside the bounds table");
    // Ranges share one shape in a planned plan; a mutated one may mix them, so look at each tensor.
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t tensor = first + i * step;
      if (plan_.tensor_dims[tensor] != dims ||
          plan_.tensor_dtype[tensor] != plan_.tensor_dtype[first])
        fail(table, row, "tensors of one shape and dtype in a range");
      if (i > 0 && plan_.tensor_shape[tensor] == plan_.tensor_shape[tensor - step]) continue;
      for (std::uint8_t d = 0; d < dims; ++d) {
        const std::int64_t low = plan_.bounds[offset + 2 * d];
        const std::int64_t high = plan_.bounds[offset + 2 * d + 1];
        const std::int64_t extent = plan_.extents[plan_.tensor_shape[tensor] + d];
        if (low < 0 || high < low || high > extent) fail(table, row, "a box inside its tensor");
      }
    }
  }

  void validate_text_and_tensors() const {
    if (plan_.names.empty() || plan_.names.back() != '\0') fail("names", 0, "terminated text");
    const std::size_t n = plan_.tensors();
    same_length("tensors", n,
                {plan_.tensor_shape.size(), plan_.tensor_dims.size(), plan_.tensor_dtype.size()});
    for (std::size_t i = 0; i < n; ++i) {
      name_offset("tensor_name", i, plan_.tensor_name[i]);
      if (plan_.tensor_dtype[i] >= kDTypeCount) fail("tensor_dtype", i, "a known dtype");
      if (plan_.tensor_shape[i] > plan_.extents.size() ||
          plan_.extents.size() - plan_.tensor_shape[i] < plan_.tensor_dims[i])
        fail("tensor_shape", i, "a shape inside the extents table");
    }
    for (std::size_t i = 0; i < plan_.extents.size(); ++i)
      if (plan_.extents[i] < 0 || plan_.extents[i] > kMaxExtent)
        fail("extents", i, "an extent from 0 to 2^50");
  }

  void validate_ranks() const {
    const std::size_t ranks = plan_.ranks();
    same_length(
        "ranks", ranks,
        {plan_.rank_domain.size(), plan_.rank_gpu_model.size(), plan_.rank_memory_bytes.size()});
    same_length("staging", ranks * kSlotClasses,
                {plan_.staging_slots.size(), plan_.staging_slot_bytes.size()});
    csr("rank_buffer_first", plan_.rank_buffer_first, ranks, plan_.buffer_index.size());
    csr("rank_shard_first", plan_.rank_shard_first, ranks, plan_.shard_side.size());
    csr("rank_op_first", plan_.rank_op_first, ranks, plan_.rank_op.size());
    if (plan_.copy_rate_first.empty()) fail("copy_rate_first", 0, "at least one GPU model");
    csr("copy_rate_first", plan_.copy_rate_first, plan_.copy_rate_first.size() - 1,
        plan_.copy_run_bytes.size());
    same_length("copy_rates", plan_.copy_run_bytes.size(), {plan_.copy_efficiency_ppm.size()});
    for (std::size_t i = 0; i < ranks; ++i) {
      const std::int32_t model = plan_.rank_gpu_model[i];
      if (model < 0 || static_cast<std::size_t>(model) + 1 >= plan_.copy_rate_first.size())
        fail("rank_gpu_model", i, "a known GPU model");
    }
    for (std::size_t i = 0; i < plan_.copy_efficiency_ppm.size(); ++i)
      if (plan_.copy_efficiency_ppm[i] <= 0) fail("copy_efficiency_ppm", i, "more than 0");
    for (std::size_t i = 0; i < plan_.staging_slots.size(); ++i)
      if (plan_.staging_slot_bytes[i] > kMaxBytes || plan_.staging_slots[i] > (1u << 24))
        fail("staging", i, "a staging arena of sane size");
  }

  void validate_buffers() const {
    const std::size_t n = plan_.buffer_index.size();
    same_length(
        "buffers", n,
        {plan_.buffer_count.size(), plan_.buffer_bytes.size(), plan_.buffer_alignment.size(),
         plan_.buffer_side.size(), plan_.buffer_class.size(), plan_.buffer_commit.size(),
         plan_.buffer_post_group.size(), plan_.buffer_name.size()});
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      std::uint64_t next = 0;  // a rank's buffers are numbered without gaps
      for (std::size_t i = plan_.rank_buffer_first[rank]; i < plan_.rank_buffer_first[rank + 1];
           ++i) {
        if (plan_.buffer_index[i] != next) fail("buffer_index", i, fmt::format("{}", next));
        next += plan_.buffer_count[i];
        if (next > std::numeric_limits<std::uint32_t>::max())
          fail("buffer_count", i, "fewer buffers");
        if (plan_.buffer_bytes[i] > kMaxBytes) fail("buffer_bytes", i, "at most 2^60 bytes");
        if (plan_.buffer_side[i] > 1) fail("buffer_side", i, "a known side");
        if (plan_.buffer_class[i] > 2) fail("buffer_class", i, "a known class");
        name_offset("buffer_name", i, plan_.buffer_name[i]);
      }
    }
  }

  void validate_shards() const {
    const std::size_t n = plan_.shard_side.size();
    same_length(
        "shards", n,
        {plan_.shard_tensor_first.size(), plan_.shard_tensor_count.size(), plan_.shard_box.size(),
         plan_.shard_buffer.size(), plan_.shard_inner_count.size(), plan_.shard_bit_offset.size(),
         plan_.shard_inner_bits.size(), plan_.shard_loop_first.size(), plan_.shard_loops.size()});
    same_length("loops", plan_.loop_dim.size(),
                {plan_.loop_length.size(), plan_.loop_stride_bits.size()});
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      const std::size_t last_row = plan_.rank_buffer_first[rank + 1];
      const std::uint64_t buffers =
          last_row == plan_.rank_buffer_first[rank]
              ? 0
              : std::uint64_t{plan_.buffer_index[last_row - 1]} + plan_.buffer_count[last_row - 1];
      for (std::size_t i = plan_.rank_shard_first[rank]; i < plan_.rank_shard_first[rank + 1]; ++i)
        validate_shard(i, buffers);
    }
  }

  void validate_shard(std::size_t i, std::uint64_t buffers) const {
    if (plan_.shard_side[i] > 1) fail("shard_side", i, "a known side");
    box("shards", i, plan_.shard_box[i], plan_.shard_tensor_first[i], plan_.shard_tensor_count[i],
        1);
    if (plan_.shard_inner_count[i] == 0) fail("shard_inner_count", i, "at least 1");
    const std::uint64_t last =
        plan_.shard_buffer[i] +
        (std::uint64_t{plan_.shard_tensor_count[i]} - 1) / plan_.shard_inner_count[i];
    if (last >= buffers) fail("shard_buffer", i, "a buffer of its rank");
    const std::uint32_t tensor = plan_.shard_tensor_first[i];
    const std::uint8_t dims = plan_.tensor_dims[tensor];
    if (plan_.shard_loop_first[i] > plan_.loop_dim.size() ||
        plan_.loop_dim.size() - plan_.shard_loop_first[i] < plan_.shard_loops[i])
      fail("shard_loops", i, "loops inside the loop table");
    // The loops of each dimension must enumerate exactly the box's extent along it.
    for (std::uint8_t d = 0; d < dims; ++d) {
      std::int64_t product = 1;
      bool any = false;
      for (std::uint8_t l = 0; l < plan_.shard_loops[i]; ++l) {
        const std::size_t loop = plan_.shard_loop_first[i] + l;
        if (plan_.loop_dim[loop] >= dims) fail("loop_dim", loop, "a dimension of the tensor");
        if (plan_.loop_dim[loop] != d) continue;
        any = true;
        if (plan_.loop_length[loop] < 0 || plan_.loop_length[loop] > kMaxExtent ||
            (product > 0 && plan_.loop_length[loop] > kMaxExtent / product))
          fail("loop_length", loop, "a sane length");
        product *= plan_.loop_length[loop];
        if (plan_.loop_stride_bits[loop] < 0 ||
            plan_.loop_stride_bits[loop] > std::int64_t{1} << 58 ||
            plan_.loop_stride_bits[loop] % 8 != 0)
          fail("loop_stride_bits", loop, "a non-negative stride in whole bytes");
      }
      const std::int64_t extent =
          plan_.bounds[plan_.shard_box[i] + 2 * d + 1] - plan_.bounds[plan_.shard_box[i] + 2 * d];
      if (!any || product != extent) fail("shard_loops", i, "loops that enumerate the box");
    }
    if (plan_.shard_bit_offset[i] % 8 != 0 || plan_.shard_inner_bits[i] % 8 != 0)
      fail("shard_bit_offset", i, "whole bytes");
    validate_shard_end(i, dims);
  }

  // The last byte of every tensor of the row lies inside its buffer.
  void validate_shard_end(std::size_t i, std::uint8_t dims) const {
    __int128 span_bits =
        dtype_bits(static_cast<DType>(plan_.tensor_dtype[plan_.shard_tensor_first[i]]));
    bool empty = false;
    for (std::uint8_t d = 0; d < dims; ++d)
      empty |=
          plan_.bounds[plan_.shard_box[i] + 2 * d + 1] == plan_.bounds[plan_.shard_box[i] + 2 * d];
    if (empty) return;
    for (std::uint8_t l = 0; l < plan_.shard_loops[i]; ++l) {
      const std::size_t loop = plan_.shard_loop_first[i] + l;
      span_bits +=
          static_cast<__int128>(plan_.loop_length[loop] - 1) * plan_.loop_stride_bits[loop];
    }
    const std::uint64_t inner =
        std::min<std::uint64_t>(plan_.shard_inner_count[i], plan_.shard_tensor_count[i]);
    const __int128 end_bits = static_cast<__int128>(plan_.shard_bit_offset[i]) +
                              static_cast<__int128>(inner - 1) * plan_.shard_inner_bits[i] +
                              span_bits;
    // Every buffer the row touches must be long enough; rows of one shard name equal buffers.
    const std::uint32_t first = plan_.shard_buffer[i];
    const std::uint64_t last =
        first + (std::uint64_t{plan_.shard_tensor_count[i]} - 1) / plan_.shard_inner_count[i];
    const std::size_t rank = rank_of_shard(i);
    for (std::size_t b = plan_.rank_buffer_first[rank]; b < plan_.rank_buffer_first[rank + 1];
         ++b) {
      const std::uint64_t begin = plan_.buffer_index[b];
      const std::uint64_t end = begin + plan_.buffer_count[b];
      if (end <= first || begin > last) continue;
      if (end_bits > static_cast<__int128>(plan_.buffer_bytes[b]) * 8)
        fail("shards", i, "a shard inside its buffer");
      if (plan_.buffer_side[b] != plan_.shard_side[i])
        fail("shards", i, "a buffer of the shard's side");
    }
  }

  std::size_t rank_of_shard(std::size_t shard) const {
    const auto next =
        std::upper_bound(plan_.rank_shard_first.begin(), plan_.rank_shard_first.end(), shard);
    return static_cast<std::size_t>(next - plan_.rank_shard_first.begin()) - 1;
  }

  void validate_bundles() const {
    const std::size_t slices = plan_.slice_tensor_first.size();
    same_length(
        "slices", slices,
        {plan_.slice_tensor_count.size(), plan_.slice_tensor_step.size(), plan_.slice_box.size()});
    csr("bundle_slice_first", plan_.bundle_slice_first, plan_.bundles(), slices);
    for (std::size_t i = 0; i < slices; ++i)
      box("slices", i, plan_.slice_box[i], plan_.slice_tensor_first[i], plan_.slice_tensor_count[i],
          plan_.slice_tensor_step[i]);
    for (std::size_t b = 0; b < plan_.bundles(); ++b) {
      __int128 bytes = 0;
      for (std::size_t i = plan_.bundle_slice_first[b]; i < plan_.bundle_slice_first[b + 1]; ++i)
        bytes += static_cast<__int128>(slice_box_bytes(i)) * plan_.slice_tensor_count[i];
      if (bytes != static_cast<__int128>(plan_.bundle_bytes[b]))
        fail("bundle_bytes", b, "the bytes of the bundle's slices");
    }
  }

  std::uint64_t slice_box_bytes(std::size_t slice) const {
    const std::uint32_t tensor = plan_.slice_tensor_first[slice];
    __int128 bits = dtype_bits(static_cast<DType>(plan_.tensor_dtype[tensor]));
    for (std::uint8_t d = 0; d < plan_.tensor_dims[tensor]; ++d) {
      const std::uint64_t at = plan_.slice_box[slice] + 2 * d;
      bits *= plan_.bounds[at + 1] - plan_.bounds[at];
      if (bits > static_cast<__int128>(kMaxBytes) * 8) fail("slices", slice, "at most 2^60 bytes");
    }
    return static_cast<std::uint64_t>(bits / 8);
  }

  void validate_ports() const {
    const std::size_t links = plan_.link_kind.size();
    same_length("links", links,
                {plan_.link_rate.size(), plan_.link_efficiency_ppm.size(), plan_.link_name.size()});
    for (std::size_t i = 0; i < links; ++i) {
      if (plan_.link_kind[i] > static_cast<std::uint8_t>(LinkKind::kHost))
        fail("link_kind", i, "a known kind");
      if (plan_.link_rate[i] < 0) fail("link_rate", i, "a rate of at least 0");
      if (plan_.link_efficiency_ppm[i] <= 0 || plan_.link_efficiency_ppm[i] > 1'000'000)
        fail("link_efficiency_ppm", i, "from 1 to 1000000");
      name_offset("link_name", i, plan_.link_name[i]);
    }
    same_length(
        "ports", plan_.ports(),
        {plan_.port_rank.size(), plan_.port_link.size(), plan_.port_window.size(),
         plan_.port_latency_ps.size(), plan_.port_occupancy_ps.size(), plan_.port_name.size()});
    for (std::size_t i = 0; i < plan_.ports(); ++i) {
      if (plan_.port_kind[i] > static_cast<std::uint8_t>(PortKind::kHost))
        fail("port_kind", i, "a known kind");
      rank_index("port_rank", i, plan_.port_rank[i]);
      if (plan_.port_link[i] >= links) fail("port_link", i, "a link that exists");
      if (plan_.port_window[i] == 0) fail("port_window", i, "at least 1");
      if (plan_.port_latency_ps[i] < 0 || plan_.port_occupancy_ps[i] < 0)
        fail("port_latency_ps", i, "no negative times");
      name_offset("port_name", i, plan_.port_name[i]);
    }
  }

  void rank_index(std::string_view table, std::size_t row, std::int32_t rank) const {
    if (rank < 0 || static_cast<std::size_t>(rank) >= plan_.ranks()) fail(table, row, "a rank");
  }

  void validate_operations() const {
    const std::size_t n = plan_.operations();
    same_length("operations", n,
                {plan_.op_kind.size(), plan_.op_role.size(), plan_.op_source.size(),
                 plan_.op_destination.size(), plan_.op_out_port.size(), plan_.op_in_port.size(),
                 plan_.op_bundle.size(), plan_.op_begin.size(), plan_.op_bytes.size(),
                 plan_.op_source_slot.size(), plan_.op_destination_slot.size(),
                 plan_.op_group.size(), plan_.op_collective.size(), plan_.op_chunk.size(),
                 plan_.op_hop.size(), plan_.op_run_bytes.size(), plan_.op_cost_ps.size()});
    csr("op_after_first", plan_.op_after_first, n, plan_.op_after.size());
    csr("op_stream_first", plan_.op_stream_first, n, plan_.op_stream.size());
    for (std::size_t i = 0; i < n; ++i) validate_operation(i);
    for (OpId op : plan_.op_after)
      if (op >= n) fail("op_after", op, "an operation that exists");
    for (OpId op : plan_.op_stream)
      if (op >= n) fail("op_stream", op, "an operation that exists");
  }

  void validate_operation(std::size_t i) const {
    if (plan_.op_kind[i] > static_cast<std::uint8_t>(OpKind::kHost))
      fail("op_kind", i, "a known kind");
    if (plan_.op_role[i] > static_cast<std::uint8_t>(OpRole::kBarrier))
      fail("op_role", i, "a known role");
    rank_index("op_source", i, plan_.op_source[i]);
    rank_index("op_destination", i, plan_.op_destination[i]);
    port_index("op_out_port", i, plan_.op_out_port[i]);
    port_index("op_in_port", i, plan_.op_in_port[i]);
    const auto kind = static_cast<OpKind>(plan_.op_kind[i]);
    const bool transfer = kind == OpKind::kTransfer;
    if (transfer && (plan_.op_out_port[i] < 0 || plan_.op_in_port[i] < 0 ||
                     plan_.op_source[i] == plan_.op_destination[i]))
      fail("operations", i, "a transfer between two ranks and two ports");
    if (!transfer && (plan_.op_in_port[i] >= 0 || plan_.op_source[i] != plan_.op_destination[i]))
      fail("operations", i, "one rank and one port");
    if (plan_.op_cost_ps[i] < 0) fail("op_cost_ps", i, "no negative time");
    if (plan_.op_group[i] < kNone) fail("op_group", i, "a group, or -1");
    if (kind == OpKind::kCopy || transfer) {
      const std::int32_t bundle = plan_.op_bundle[i];
      if (bundle < 0 || static_cast<std::size_t>(bundle) >= plan_.bundles())
        fail("op_bundle", i, "a bundle that exists");
      const std::uint64_t bytes = plan_.bundle_bytes[static_cast<std::size_t>(bundle)];
      if (plan_.op_begin[i] > bytes || plan_.op_bytes[i] > bytes - plan_.op_begin[i])
        fail("op_begin", i, "a range inside the bundle");
      if (!transfer && plan_.op_out_port[i] < 0) fail("op_out_port", i, "the port of the copy");
      slot(i, plan_.op_source[i], plan_.op_source_slot[i]);
      slot(i, plan_.op_destination[i], plan_.op_destination_slot[i]);
    }
  }

  void port_index(std::string_view table, std::size_t row, std::int32_t port) const {
    if (port < kNone || (port >= 0 && static_cast<std::size_t>(port) >= plan_.ports()))
      fail(table, row, "a port that exists, or -1");
  }

  // The slot exists on the rank and has room for the operation's bytes at their place in it.
  void slot(std::size_t op, std::int32_t rank, std::int32_t slot_index) const {
    if (slot_index == kNone) return;
    if (slot_index < 0) fail("operations", op, "a slot, or -1");
    std::int64_t left = slot_index;
    const std::size_t base = static_cast<std::size_t>(rank) * kSlotClasses;
    for (std::size_t c = 0; c < kSlotClasses; ++c) {
      if (left < plan_.staging_slots[base + c]) {
        const bool bucket = c == static_cast<std::size_t>(SlotClass::kBucket);
        const std::uint64_t end = (bucket ? plan_.op_begin[op] : 0) + plan_.op_bytes[op];
        if (end > plan_.staging_slot_bytes[base + c])
          fail("operations", op, "a slot that has room for its bytes");
        return;
      }
      left -= plan_.staging_slots[base + c];
    }
    fail("operations", op, "a slot that its rank has");
  }

  void validate_programs() const {
    std::vector<std::uint8_t> seen(plan_.operations() * 2, 0);
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      for (std::size_t i = plan_.rank_op_first[rank]; i < plan_.rank_op_first[rank + 1]; ++i) {
        const OpId op = plan_.rank_op[i];
        if (op >= plan_.operations()) fail("rank_op", i, "an operation that exists");
        const bool at_source = plan_.op_source[op] == static_cast<std::int32_t>(rank);
        if (!at_source && plan_.op_destination[op] != static_cast<std::int32_t>(rank))
          fail("rank_op", i, "an operation of its rank");
        if (seen[2 * op + (at_source ? 0 : 1)]++ != 0) fail("rank_op", i, "each operation once");
      }
    }
    for (std::size_t op = 0; op < plan_.operations(); ++op) {
      const bool two = plan_.op_source[op] != plan_.op_destination[op];
      if (seen[2 * op] != 1 || seen[2 * op + 1] != (two ? 1 : 0))
        fail("rank_op", op, "every operation in the programs of its ranks");
    }
  }

  const Plan& plan_;
  std::string name_;
};

}  // namespace

void validate_plan(const Plan& plan, const std::string& name) { Validator(plan, name).run(); }

}  // namespace transload
