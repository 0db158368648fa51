#include <vector>

#include "common/dtype.h"
#include "planner/schedule/validate_rules.h"

namespace transload {
namespace {

class OperationValidator {
 public:
  explicit OperationValidator(const ValidateRules& rules) : rules_(rules), plan_(rules.plan()) {}

  void run() const {
    validate_bundles();
    validate_ports();
    validate_op_table();
    validate_programs();
  }

 private:
  void validate_bundles() const {
    const std::size_t slices = plan_.slice_tensor_first.size();
    rules_.same_length(
        "slices", slices,
        {plan_.slice_tensor_count.size(), plan_.slice_tensor_step.size(), plan_.slice_box.size()});
    rules_.csr("bundle_slice_first", plan_.bundle_slice_first, plan_.bundles(), slices);
    for (std::size_t i = 0; i < slices; ++i)
      rules_.box("slices", i, plan_.slice_box[i], plan_.slice_tensor_first[i],
                 plan_.slice_tensor_count[i], plan_.slice_tensor_step[i]);
    for (std::size_t b = 0; b < plan_.bundles(); ++b) {
      __int128 bytes = 0;
      for (std::size_t i = plan_.bundle_slice_first[b]; i < plan_.bundle_slice_first[b + 1]; ++i)
        bytes += static_cast<__int128>(slice_box_bytes(i)) * plan_.slice_tensor_count[i];
      if (bytes != static_cast<__int128>(plan_.bundle_bytes[b]))
        rules_.fail("bundle_bytes", b, "the bytes of the bundle's slices");
    }
  }

  std::uint64_t slice_box_bytes(std::size_t slice) const {
    const std::uint32_t tensor = plan_.slice_tensor_first[slice];
    __int128 bits = dtype_bits(static_cast<DType>(plan_.tensor_dtype[tensor]));
    for (std::uint8_t d = 0; d < plan_.tensor_dims[tensor]; ++d) {
      const std::uint64_t at = plan_.slice_box[slice] + 2 * d;
      bits *= plan_.bounds[at + 1] - plan_.bounds[at];
      if (bits > static_cast<__int128>(kMaxBytes) * 8)
        rules_.fail("slices", slice, "at most 2^60 bytes");
    }
    return static_cast<std::uint64_t>(bits / 8);
  }

  void validate_ports() const {
    const std::size_t links = plan_.link_kind.size();
    rules_.same_length(
        "links", links,
        {plan_.link_rate.size(), plan_.link_efficiency_ppm.size(), plan_.link_name.size()});
    for (std::size_t i = 0; i < links; ++i) {
      if (plan_.link_kind[i] > static_cast<std::uint8_t>(LinkKind::kPcie))
        rules_.fail("link_kind", i, "a known kind");
      if (plan_.link_rate[i] < 0) rules_.fail("link_rate", i, "a rate of at least 0");
      if (plan_.link_efficiency_ppm[i] <= 0 || plan_.link_efficiency_ppm[i] > 1'000'000)
        rules_.fail("link_efficiency_ppm", i, "from 1 to 1000000");
      rules_.name_offset("link_name", i, plan_.link_name[i]);
    }
    rules_.same_length(
        "ports", plan_.ports(),
        {plan_.port_rank.size(), plan_.port_link.size(), plan_.port_window.size(),
         plan_.port_latency_ps.size(), plan_.port_occupancy_ps.size(), plan_.port_name.size()});
    for (std::size_t i = 0; i < plan_.ports(); ++i) {
      if (plan_.port_kind[i] > static_cast<std::uint8_t>(PortKind::kHost))
        rules_.fail("port_kind", i, "a known kind");
      rules_.rank_index("port_rank", i, plan_.port_rank[i]);
      if (plan_.port_link[i] >= links) rules_.fail("port_link", i, "a link that exists");
      if (plan_.port_window[i] == 0) rules_.fail("port_window", i, "at least 1");
      if (plan_.port_latency_ps[i] < 0 || plan_.port_occupancy_ps[i] < 0)
        rules_.fail("port_latency_ps", i, "no negative times");
      rules_.name_offset("port_name", i, plan_.port_name[i]);
    }
    validate_paths(links);
  }

  void validate_paths(std::size_t links) const {
    const std::size_t n = plan_.path_latency_ps.size();
    rules_.csr("path_link_first", plan_.path_link_first, n, plan_.path_link.size());
    if (n == 0 || plan_.path_link_first[1] != 0 || plan_.path_latency_ps[0] != 0)
      rules_.fail("path_link_first", 0, "an empty first path");
    for (std::size_t i = 0; i < plan_.path_link.size(); ++i)
      if (plan_.path_link[i] >= links) rules_.fail("path_link", i, "a link that exists");
    for (std::size_t i = 0; i < n; ++i)
      if (plan_.path_latency_ps[i] < 0) rules_.fail("path_latency_ps", i, "no negative time");
  }

  void validate_op_table() const {
    const std::size_t n = plan_.operations();
    rules_.same_length(
        "operations", n,
        {plan_.op_kind.size(),        plan_.op_role.size(),        plan_.op_source.size(),
         plan_.op_destination.size(), plan_.op_out_port.size(),    plan_.op_in_port.size(),
         plan_.op_out_path.size(),    plan_.op_in_path.size(),     plan_.op_bundle.size(),
         plan_.op_begin.size(),       plan_.op_bytes.size(),       plan_.op_read_bundle.size(),
         plan_.op_read_bytes.size(),  plan_.op_source_slot.size(), plan_.op_destination_slot.size(),
         plan_.op_group.size(),       plan_.op_collective.size(),  plan_.op_chunk.size(),
         plan_.op_hop.size(),         plan_.op_run_bytes.size(),   plan_.op_cost_ps.size()});
    rules_.csr("op_after_first", plan_.op_after_first, n, plan_.op_after.size());
    rules_.csr("op_stream_first", plan_.op_stream_first, n, plan_.op_stream.size());
    for (std::size_t i = 0; i < n; ++i) validate_operation(i);
    for (OpId op : plan_.op_after)
      if (op >= n) rules_.fail("op_after", op, "an operation that exists");
    for (OpId op : plan_.op_stream)
      if (op >= n) rules_.fail("op_stream", op, "an operation that exists");
  }

  void validate_operation(std::size_t i) const {
    if (plan_.op_kind[i] > static_cast<std::uint8_t>(OpKind::kConvert))
      rules_.fail("op_kind", i, "a known kind");
    if (plan_.op_role[i] > static_cast<std::uint8_t>(OpRole::kConvert))
      rules_.fail("op_role", i, "a known role");
    rules_.rank_index("op_source", i, plan_.op_source[i]);
    rules_.rank_index("op_destination", i, plan_.op_destination[i]);
    port_index("op_out_port", i, plan_.op_out_port[i]);
    port_index("op_in_port", i, plan_.op_in_port[i]);
    const std::size_t paths = plan_.path_latency_ps.size();
    if (plan_.op_out_path[i] >= paths || plan_.op_in_path[i] >= paths)
      rules_.fail("op_out_path", i, "paths that exist");
    const auto kind = static_cast<OpKind>(plan_.op_kind[i]);
    if (kind != OpKind::kTransfer && (plan_.op_out_path[i] != 0 || plan_.op_in_path[i] != 0))
      rules_.fail("op_out_path", i, "the empty path for an operation of one rank");
    const bool transfer = kind == OpKind::kTransfer;
    if (transfer && (plan_.op_out_port[i] < 0 || plan_.op_in_port[i] < 0 ||
                     plan_.op_source[i] == plan_.op_destination[i]))
      rules_.fail("operations", i, "a transfer between two ranks and two ports");
    if (!transfer && (plan_.op_in_port[i] >= 0 || plan_.op_source[i] != plan_.op_destination[i]))
      rules_.fail("operations", i, "one rank and one port");
    if (plan_.op_cost_ps[i] < 0) rules_.fail("op_cost_ps", i, "no negative time");
    if (plan_.op_group[i] < kNone) rules_.fail("op_group", i, "a group, or -1");
    const bool convert = kind == OpKind::kConvert;
    if (plan_.op_read_bundle[i] < kNone ||
        plan_.op_read_bundle[i] >= static_cast<std::int64_t>(plan_.bundles()) ||
        (plan_.op_read_bundle[i] >= 0) != (convert && plan_.op_source_slot[i] >= 0))
      rules_.fail("op_read_bundle", i, "the bundle in the slot of a convert, else -1");
    if (convert ? plan_.op_read_bytes[i] > kMaxBytes : plan_.op_read_bytes[i] > 0)
      rules_.fail("op_read_bytes", i, "what a convert reads, else 0");
    if (kind == OpKind::kCopy || convert || transfer) {
      const std::int32_t bundle = plan_.op_bundle[i];
      if (bundle < 0 || static_cast<std::size_t>(bundle) >= plan_.bundles())
        rules_.fail("op_bundle", i, "a bundle that exists");
      const std::uint64_t bytes = plan_.bundle_bytes[static_cast<std::size_t>(bundle)];
      if (plan_.op_begin[i] > bytes || plan_.op_bytes[i] > bytes - plan_.op_begin[i])
        rules_.fail("op_begin", i, "a range inside the bundle");
      if (!transfer && plan_.op_out_port[i] < 0)
        rules_.fail("op_out_port", i, "the port of the copy");
      const std::uint64_t last = plan_.op_begin[i] + plan_.op_bytes[i];
      if (plan_.op_read_bundle[i] >= 0) {
        const std::uint64_t read =
            plan_.bundle_bytes[static_cast<std::size_t>(plan_.op_read_bundle[i])];
        slot(i, plan_.op_source[i], plan_.op_source_slot[i], read, read);
      } else {
        slot(i, plan_.op_source[i], plan_.op_source_slot[i], plan_.op_bytes[i], last);
      }
      slot(i, plan_.op_destination[i], plan_.op_destination_slot[i], plan_.op_bytes[i], last);
    }
  }

  void port_index(std::string_view table, std::size_t row, std::int32_t port) const {
    if (port < kNone || (port >= 0 && static_cast<std::size_t>(port) >= plan_.ports()))
      rules_.fail(table, row, "a port that exists, or -1");
  }

  // The slot exists on the rank and has room for `bytes`; in a bucket they end at `last`.
  void slot(std::size_t op, std::int32_t rank, std::int32_t slot_index, std::uint64_t bytes,
            std::uint64_t last) const {
    if (slot_index == kNone) return;
    if (slot_index < 0) rules_.fail("operations", op, "a slot, or -1");
    std::int64_t left = slot_index;
    const std::size_t base = static_cast<std::size_t>(rank) * kSlotClasses;
    for (std::size_t c = 0; c < kSlotClasses; ++c) {
      if (left < plan_.staging_slots[base + c]) {
        const bool bucket = c == static_cast<std::size_t>(SlotClass::kBucket);
        const std::uint64_t end = bucket ? last : bytes;
        if (end > plan_.staging_slot_bytes[base + c])
          rules_.fail("operations", op, "a slot that has room for its bytes");
        return;
      }
      left -= plan_.staging_slots[base + c];
    }
    rules_.fail("operations", op, "a slot that its rank has");
  }

  void validate_programs() const {
    std::vector<std::uint8_t> seen(plan_.operations() * 2, 0);
    for (std::size_t rank = 0; rank < plan_.ranks(); ++rank) {
      for (std::size_t i = plan_.rank_op_first[rank]; i < plan_.rank_op_first[rank + 1]; ++i) {
        const OpId op = plan_.rank_op[i];
        if (op >= plan_.operations()) rules_.fail("rank_op", i, "an operation that exists");
        const bool at_source = plan_.op_source[op] == static_cast<std::int32_t>(rank);
        if (!at_source && plan_.op_destination[op] != static_cast<std::int32_t>(rank))
          rules_.fail("rank_op", i, "an operation of its rank");
        if (seen[2 * op + (at_source ? 0 : 1)]++ != 0)
          rules_.fail("rank_op", i, "each operation once");
      }
    }
    for (std::size_t op = 0; op < plan_.operations(); ++op) {
      const bool two = plan_.op_source[op] != plan_.op_destination[op];
      if (seen[2 * op] != 1 || seen[2 * op + 1] != (two ? 1 : 0))
        rules_.fail("rank_op", op, "every operation in the programs of its ranks");
    }
  }

  const ValidateRules& rules_;
  const Plan& plan_;
};

}  // namespace

void validate_operations(const ValidateRules& rules) { OperationValidator(rules).run(); }

}  // namespace transload
