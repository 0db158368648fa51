#include "planner/schedule/builder.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"
#include "planner/schedule/convert_reads.h"

namespace transload {
namespace {

std::string key_of(std::span<const std::int64_t> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

PlanBuilder::PlanBuilder() {
  tables_.names.push_back('\0');
  tables_.bundle_slice_first.push_back(0);
  tables_.copy_rate_first.push_back(0);
  tables_.path_link_first.push_back(0);
  add_path({}, 0);
}

std::uint64_t PlanBuilder::add_name(std::string_view name) {
  if (name.empty()) return 0;
  const std::uint64_t offset = tables_.names.size();
  tables_.names.insert(tables_.names.end(), name.begin(), name.end());
  tables_.names.push_back('\0');
  return offset;
}

std::uint64_t PlanBuilder::add_extents(std::span<const std::int64_t> shape) {
  const auto [entry, added] = extents_of_shape_.try_emplace(key_of(shape), tables_.extents.size());
  if (added) tables_.extents.insert(tables_.extents.end(), shape.begin(), shape.end());
  return entry->second;
}

std::int32_t PlanBuilder::add_rank(std::int32_t node, std::int32_t domain, std::int32_t gpu_model,
                                   std::uint64_t memory_bytes) {
  tables_.rank_node.push_back(node);
  tables_.rank_domain.push_back(domain);
  tables_.rank_gpu_model.push_back(gpu_model);
  tables_.rank_memory_bytes.push_back(memory_bytes);
  tables_.staging_slots.resize(tables_.staging_slots.size() + kSlotClasses, 0);
  tables_.staging_slot_bytes.resize(tables_.staging_slot_bytes.size() + kSlotClasses, 0);
  next_buffer_.push_back(0);
  return static_cast<std::int32_t>(tables_.rank_node.size()) - 1;
}

void PlanBuilder::add_gpu_model(std::span<const std::pair<std::uint64_t, std::int64_t>> copy_rates,
                                std::int64_t convert_ppm) {
  tables_.convert_efficiency_ppm.push_back(convert_ppm);
  for (const auto& [run_bytes, efficiency] : copy_rates) {
    tables_.copy_run_bytes.push_back(run_bytes);
    tables_.copy_efficiency_ppm.push_back(efficiency);
  }
  tables_.copy_rate_first.push_back(static_cast<std::uint32_t>(tables_.copy_run_bytes.size()));
}

std::uint32_t PlanBuilder::add_link(LinkKind kind, std::int64_t rate, std::int64_t efficiency_ppm,
                                    std::string_view name) {
  tables_.link_kind.push_back(static_cast<std::uint8_t>(kind));
  tables_.link_rate.push_back(rate);
  tables_.link_efficiency_ppm.push_back(efficiency_ppm);
  tables_.link_name.push_back(add_name(name));
  return static_cast<std::uint32_t>(tables_.link_kind.size()) - 1;
}

std::int32_t PlanBuilder::add_port(PortKind kind, std::int32_t rank, std::uint32_t link,
                                   std::uint32_t window, std::int64_t latency_ps,
                                   std::int64_t occupancy_ps, std::string_view name) {
  tables_.port_kind.push_back(static_cast<std::uint8_t>(kind));
  tables_.port_rank.push_back(rank);
  tables_.port_link.push_back(link);
  tables_.port_window.push_back(window);
  tables_.port_latency_ps.push_back(latency_ps);
  tables_.port_occupancy_ps.push_back(occupancy_ps);
  tables_.port_name.push_back(add_name(name));
  return static_cast<std::int32_t>(tables_.port_kind.size()) - 1;
}

std::uint32_t PlanBuilder::add_path(std::span<const std::uint32_t> links, std::int64_t latency_ps) {
  tables_.path_link.insert(tables_.path_link.end(), links.begin(), links.end());
  tables_.path_link_first.push_back(tables_.path_link.size());
  tables_.path_latency_ps.push_back(latency_ps);
  return static_cast<std::uint32_t>(tables_.path_latency_ps.size()) - 1;
}

void PlanBuilder::set_port_window(std::int32_t port, std::uint32_t window) {
  tables_.port_window[static_cast<std::size_t>(port)] = window;
}

std::uint32_t PlanBuilder::add_tensor(std::string_view name, std::span<const std::int64_t> shape,
                                      DType dtype, std::optional<std::uint32_t> source) {
  TRANSLOAD_CHECK(shape.size() < 256, "a tensor has fewer than 256 dimensions");
  const auto tensor = static_cast<std::uint32_t>(tables_.tensor_name.size());
  tables_.tensor_name.push_back(add_name(name));
  tables_.tensor_shape.push_back(add_extents(shape));
  tables_.tensor_dims.push_back(static_cast<std::uint8_t>(shape.size()));
  tables_.tensor_dtype.push_back(static_cast<std::uint8_t>(dtype));
  TRANSLOAD_CHECK(!source || *source < tensor, "another name follows its tensor");
  tables_.tensor_source.push_back(source ? tables_.tensor_source[*source] : tensor);
  tables_.tensor_made_from.push_back(tensor);
  tables_.tensor_recipe.push_back(static_cast<std::uint8_t>(Recipe::kAsIs));
  tables_.tensor_making.push_back(static_cast<std::uint8_t>(Making::kNotMade));
  has_other_names_ |= source.has_value();
  return tensor;
}

void PlanBuilder::set_made(std::uint32_t tensor, std::uint32_t from, Recipe recipe, Making making) {
  TRANSLOAD_CHECK(tensor != from && tables_.tensor_made_from[from] == from,
                  "what a tensor is made from is not made");
  tables_.tensor_made_from[tensor] = from;
  tables_.tensor_recipe[tensor] = static_cast<std::uint8_t>(recipe);
  tables_.tensor_making[tensor] = static_cast<std::uint8_t>(making);
}

std::uint64_t PlanBuilder::add_box(std::span<const std::int64_t> bounds) {
  const auto [entry, added] = box_of_bounds_.try_emplace(key_of(bounds), tables_.bounds.size());
  if (added) tables_.bounds.insert(tables_.bounds.end(), bounds.begin(), bounds.end());
  return entry->second;
}

std::uint32_t PlanBuilder::add_buffers(std::int32_t rank, Side side, std::uint64_t bytes,
                                       std::uint32_t count, std::string_view name,
                                       const BufferTraits& traits) {
  std::uint32_t& next = next_buffer_[static_cast<std::size_t>(rank)];
  buffers_.push_back({rank, next, count, bytes, side, add_name(name), traits});
  next += count;
  return next - count;
}

void PlanBuilder::add_shard(std::int32_t rank, const ShardSpec& shard) {
  shards_.emplace_back(rank, shard);
}

void PlanBuilder::add_fill(std::int32_t rank, std::uint32_t buffer, std::uint32_t count,
                           std::uint64_t offset, std::uint64_t bytes) {
  if (count > 0 && bytes > 0) fills_.push_back({rank, buffer, count, offset, bytes});
}

void PlanBuilder::add_dense_shard(std::int32_t rank, Side side, std::uint32_t tensor,
                                  std::uint32_t count, std::span<const std::int64_t> bounds) {
  const std::int64_t bits = dtype_bits(static_cast<DType>(tables_.tensor_dtype[tensor]));
  ShardSpec shard;
  shard.side = side;
  shard.tensor_first = tensor;
  shard.tensor_count = count;
  shard.box = add_box(bounds);
  const std::size_t dims = bounds.size() / 2;
  shard.loops.resize(dims);
  std::int64_t stride = bits;
  for (std::size_t d = dims; d-- > 0;) {
    const std::int64_t length = bounds[2 * d + 1] - bounds[2 * d];
    shard.loops[d] = {static_cast<std::uint8_t>(d), length, stride};
    stride *= length;
  }
  TRANSLOAD_CHECK(stride % 8 == 0, "a dense shard has whole bytes");
  shard.buffer = add_buffers(rank, side, static_cast<std::uint64_t>(stride / 8), count);
  add_shard(rank, shard);
}

std::int32_t PlanBuilder::add_bundle(std::span<const SliceSpec> slices) {
  std::uint64_t bytes = 0;
  for (const SliceSpec& slice : slices) {
    tables_.slice_tensor_first.push_back(slice.tensor_first);
    tables_.slice_tensor_count.push_back(slice.tensor_count);
    tables_.slice_tensor_step.push_back(slice.tensor_step);
    tables_.slice_box.push_back(slice.box);
    auto bits = static_cast<std::uint64_t>(
        dtype_bits(static_cast<DType>(tables_.tensor_dtype[slice.tensor_first])));
    for (std::size_t d = 0; d < tables_.tensor_dims[slice.tensor_first]; ++d)
      bits *= static_cast<std::uint64_t>(tables_.bounds[slice.box + 2 * d + 1] -
                                         tables_.bounds[slice.box + 2 * d]);
    bytes += bits / 8 * slice.tensor_count;
  }
  tables_.bundle_slice_first.push_back(tables_.slice_tensor_first.size());
  tables_.bundle_bytes.push_back(bytes);
  return static_cast<std::int32_t>(tables_.bundle_bytes.size()) - 1;
}

std::uint64_t PlanBuilder::bundle_bytes(std::int32_t bundle) const {
  return tables_.bundle_bytes[static_cast<std::size_t>(bundle)];
}

void PlanBuilder::set_staging(std::int32_t rank, SlotClass slot_class, std::uint32_t slots,
                              std::uint64_t slot_bytes) {
  const std::size_t index =
      static_cast<std::size_t>(rank) * kSlotClasses + static_cast<std::size_t>(slot_class);
  tables_.staging_slots[index] = slots;
  tables_.staging_slot_bytes[index] = slot_bytes;
}

std::int32_t PlanBuilder::first_slot(std::int32_t rank, SlotClass slot_class) const {
  const std::size_t row = static_cast<std::size_t>(rank) * kSlotClasses;
  std::uint32_t slots = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(slot_class); ++i)
    slots += tables_.staging_slots[row + i];
  return static_cast<std::int32_t>(slots);
}

std::uint64_t PlanBuilder::next_key() const {
  std::uint64_t next = 0;
  for (const std::uint64_t key : tables_.op_key) next = std::max(next, key + 1);
  return next;
}

std::int32_t PlanBuilder::next_group() const {
  std::int32_t next = 0;
  for (const std::int32_t group : tables_.op_group) next = std::max(next, group + 1);
  return next;
}

OpId PlanBuilder::add_op(const OpSpec& op) {
  if (path_finder_ && op.kind == OpKind::kTransfer) {
    OpSpec with_paths = op;
    path_finder_(with_paths);
    append_op(with_paths);
  } else {
    append_op(op);
  }
  return static_cast<OpId>(tables_.op_key.size()) - 1;
}

void PlanBuilder::append_op(const OpSpec& op) {
  keys_ascend_ &= tables_.op_key.empty() || tables_.op_key.back() < op.key;
  tables_.op_key.push_back(op.key);
  tables_.op_kind.push_back(static_cast<std::uint8_t>(op.kind));
  tables_.op_role.push_back(static_cast<std::uint8_t>(op.role));
  tables_.op_source.push_back(op.source);
  tables_.op_destination.push_back(op.destination);
  tables_.op_out_port.push_back(op.out_port);
  tables_.op_in_port.push_back(op.in_port);
  tables_.op_out_path.push_back(op.out_path);
  tables_.op_in_path.push_back(op.in_path);
  tables_.op_bundle.push_back(op.bundle);
  tables_.op_begin.push_back(op.begin);
  tables_.op_bytes.push_back(op.bytes);
  tables_.op_read_bundle.push_back(op.read_bundle);
  tables_.op_read_bytes.push_back(0);
  tables_.op_source_slot.push_back(op.source_slot);
  tables_.op_destination_slot.push_back(op.destination_slot);
  tables_.op_group.push_back(op.group);
  tables_.op_collective.push_back(op.collective);
  tables_.op_chunk.push_back(op.chunk);
  tables_.op_hop.push_back(op.hop);
  tables_.op_run_bytes.push_back(op.run_bytes);
  tables_.op_cost_ps.push_back(op.cost_ps);
}

OpSpec PlanBuilder::operation(OpId op) const {
  OpSpec spec;
  spec.key = tables_.op_key[op];
  spec.kind = static_cast<OpKind>(tables_.op_kind[op]);
  spec.role = static_cast<OpRole>(tables_.op_role[op]);
  spec.source = tables_.op_source[op];
  spec.destination = tables_.op_destination[op];
  spec.out_port = tables_.op_out_port[op];
  spec.in_port = tables_.op_in_port[op];
  spec.out_path = tables_.op_out_path[op];
  spec.in_path = tables_.op_in_path[op];
  spec.bundle = tables_.op_bundle[op];
  spec.begin = tables_.op_begin[op];
  spec.bytes = tables_.op_bytes[op];
  spec.read_bundle = tables_.op_read_bundle[op];
  spec.source_slot = tables_.op_source_slot[op];
  spec.destination_slot = tables_.op_destination_slot[op];
  spec.group = tables_.op_group[op];
  spec.collective = tables_.op_collective[op];
  spec.chunk = tables_.op_chunk[op];
  spec.hop = tables_.op_hop[op];
  spec.run_bytes = tables_.op_run_bytes[op];
  spec.cost_ps = tables_.op_cost_ps[op];
  return spec;
}

template <class Visit>
void PlanBuilder::for_each_op_column(Visit&& visit) {
  const auto all = [&](auto&... columns) { (visit(columns), ...); };
  all(tables_.op_key, tables_.op_kind, tables_.op_role, tables_.op_source, tables_.op_destination,
      tables_.op_out_port, tables_.op_in_port, tables_.op_out_path, tables_.op_in_path,
      tables_.op_bundle, tables_.op_begin, tables_.op_bytes, tables_.op_read_bundle,
      tables_.op_read_bytes, tables_.op_source_slot, tables_.op_destination_slot, tables_.op_group,
      tables_.op_collective, tables_.op_chunk, tables_.op_hop, tables_.op_run_bytes,
      tables_.op_cost_ps);
}

void PlanBuilder::add_after(OpId op, OpId predecessor) { after_.emplace_back(op, predecessor); }
void PlanBuilder::add_stream(OpId op, OpId upstream) { stream_.emplace_back(op, upstream); }

void PlanBuilder::reserve_ops(std::size_t operations, std::size_t edges) {
  for_each_op_column([&](auto& column) { column.reserve(operations); });
  after_.reserve(edges);
}

std::vector<OpId> PlanBuilder::number_operations() {
  if (keys_ascend_) return {};
  std::vector<OpId> order(operations());
  std::iota(order.begin(), order.end(), OpId{0});
  std::sort(order.begin(), order.end(),
            [&](OpId a, OpId b) { return tables_.op_key[a] < tables_.op_key[b]; });
  for_each_op_column([&](auto& column) {
    std::decay_t<decltype(column)> sorted;
    sorted.reserve(order.size());
    for (const OpId op : order) sorted.push_back(column[op]);
    column = std::move(sorted);
  });
  for (std::size_t i = 1; i < order.size(); ++i)
    TRANSLOAD_CHECK(tables_.op_key[i - 1] < tables_.op_key[i], "order keys are unique");
  std::vector<OpId> number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<OpId>(i);
  return number;
}

void PlanBuilder::lay_out_edges(const std::vector<OpId>& number,
                                const std::vector<std::pair<OpId, OpId>>& edges,
                                std::vector<std::uint64_t>& first,
                                std::vector<OpId>& targets) const {
  const auto number_of = [&](OpId op) { return number.empty() ? op : number[op]; };
  first.assign(operations() + 1, 0);
  for (const auto& [op, before] : edges) ++first[number_of(op) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  targets.resize(edges.size());
  std::vector<std::uint64_t> next(first.begin(), first.end() - 1);
  for (const auto& [op, before] : edges) targets[next[number_of(op)]++] = number_of(before);
  // Sorted and without twins, so that equal graphs are equal bytes.
  std::uint64_t kept = 0;
  std::uint64_t begin = 0;
  for (std::size_t op = 0; op < operations(); ++op) {
    const auto from = targets.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = targets.begin() + static_cast<std::ptrdiff_t>(first[op + 1]);
    begin = first[op + 1];
    std::sort(from, to);
    const auto end = std::unique(from, to);
    const auto at = std::copy(from, end, targets.begin() + static_cast<std::ptrdiff_t>(kept));
    kept = static_cast<std::uint64_t>(at - targets.begin());
    first[op + 1] = kept;
  }
  targets.resize(kept);
}

void PlanBuilder::lay_out_programs() {
  const std::size_t ranks = tables_.rank_node.size();
  tables_.rank_op_first.assign(ranks + 1, 0);
  const std::size_t n = tables_.op_key.size();
  const auto for_each_rank_of = [&](std::size_t op, auto&& visit) {
    visit(static_cast<std::size_t>(tables_.op_source[op]));
    if (tables_.op_destination[op] != tables_.op_source[op])
      visit(static_cast<std::size_t>(tables_.op_destination[op]));
  };
  for (std::size_t op = 0; op < n; ++op)
    for_each_rank_of(op, [&](std::size_t rank) { ++tables_.rank_op_first[rank + 1]; });
  std::partial_sum(tables_.rank_op_first.begin(), tables_.rank_op_first.end(),
                   tables_.rank_op_first.begin());
  tables_.rank_op.resize(tables_.rank_op_first.back());
  std::vector<std::uint64_t> next(tables_.rank_op_first.begin(), tables_.rank_op_first.end() - 1);
  for (std::size_t op = 0; op < n; ++op)
    for_each_rank_of(
        op, [&](std::size_t rank) { tables_.rank_op[next[rank]++] = static_cast<OpId>(op); });
}

Plan PlanBuilder::seal(const PlanHeader& header) {
  lay_out_rank_tables();
  const std::vector<OpId> number = number_operations();
  count_convert_reads(tables_);
  lay_out_edges(number, after_, tables_.op_after_first, tables_.op_after);
  lay_out_edges(number, stream_, tables_.op_stream_first, tables_.op_stream);
  lay_out_programs();
  return seal_plan(header, tables_);
}

}  // namespace transload
