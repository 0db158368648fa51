// The schedule graph: the one contract between planner, executor, simulator, checker and renderer.
//
// A plan is a set of flat columns (structure of arrays). `PlanTables` owns them while a plan is
// made; `Plan` is the sealed file image, whose columns are spans into it. Everything that `check`,
// `simulate` and `run` need is here; docs/plan-format.md tells the story behind each table.
//
// Words: a *bundle* is an ordered list of slices; a *slice* is one box (global coordinates) of each
// tensor of a range. The *packed order* of a bundle is slice after slice, tensor after tensor,
// row-major within the box; an *operation* moves a byte range of its bundle's packed order. A
// *slot* is a chunk of a rank's staging memory.
//
// Operation ids are positions; they ascend with the global order key, and every edge goes from a
// smaller to a larger key. Sizes are bytes, times picoseconds, rates bytes/s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/recipe.h"

namespace transload {

using OpId = std::uint32_t;
inline constexpr std::int32_t kNone = -1;  // no rank, port, slot, group or collective

enum class OpKind : std::uint8_t { kCopy, kTransfer, kFence, kHost, kConvert };
enum class OpRole : std::uint8_t {
  kPack,        // copy: source buffers -> slot
  kUnpack,      // copy: slot -> destination buffers
  kLocal,       // copy: source buffers -> destination buffers of the same rank
  kInject,      // transfer that leaves a holder over the network
  kForward,     // transfer out of a landing slot to another domain
  kFanOut,      // transfer inside an NVLink domain
  kRelay,       // transfer through a rank that does not want the bytes
  kCollective,  // a hop of a lowered collective that delivers (broadcast)
  kExport,      // a published system's trainer gathers: hops of a collective, or host work
  kLoad,        // a published system's engine loads: copy out of a bucket, or host work
  kBarrier,     // fence
  kConvert,     // convert: made tensors from those that they are made from
};
enum class PortKind : std::uint8_t {
  kNicOut,
  kNicIn,
  kNvlinkOut,
  kNvlinkIn,
  kPack,
  kUnpack,
  kHost
};
enum class LinkKind : std::uint8_t {
  kNicOut,
  kNicIn,
  kNvlinkOut,
  kNvlinkIn,
  kHbm,
  kHost,
  kUplink,    // of a switch of the fabric, towards the core
  kDownlink,  // the same cables, away from it
  kWan,       // between two sites, one direction
  kPcie,      // of a PCIe switch that GPU and NIC do not share, one direction
};
enum class SlotClass : std::uint8_t { kSend, kLand, kRelay, kBucket };
inline constexpr int kSlotClasses = 4;
enum class Side : std::uint8_t { kSource, kDestination };
enum class BufferClass : std::uint8_t { kDirect, kShadow, kLoader };
enum class Discipline : std::uint8_t { kWindows, kGroups, kUnbounded };
// The ordered queue of a rank in which an operation is drawn and pays its launch.
enum class Lane : std::uint8_t { kPack, kNetOut, kNetIn, kNvlinkOut, kNvlinkIn, kUnpack, kHost };
inline constexpr int kLanes = 7;

std::string_view name_of(OpKind kind);
std::string_view name_of(OpRole role);
std::string_view name_of(PortKind kind);
std::string_view name_of(LinkKind kind);
std::string_view name_of(Discipline discipline);
std::string_view name_of(Lane lane);

// The columns. Column<T> is std::vector<T> while a plan is made and std::span<const T> in a sealed
// plan. Columns with the same prefix have the same length; `..._first` columns are CSR offsets with
// one more entry than the table they index. All enumerations are stored as their underlying bytes.
template <template <class> class Column>
struct PlanColumns {
  // Text. names[offset] up to the next NUL.
  Column<char> names;
  // Extents of shapes; bounds of boxes as lo, hi per dimension.
  Column<std::int64_t> extents;
  Column<std::int64_t> bounds;

  // Tensors, in plan order: tensors of equal layout stand together.
  Column<std::uint64_t> tensor_name;   // offset in names
  Column<std::uint64_t> tensor_shape;  // offset in extents
  Column<std::uint8_t> tensor_dims;
  Column<std::uint8_t> tensor_dtype;  // DType
  // Whose data a tensor is: itself, or the earlier tensor (of the same shape and dtype, its own
  // source) that it is another name of. Such a name has no source shards: who reads it reads the
  // source shards of that tensor.
  Column<std::uint32_t> tensor_source;
  // What a tensor is made from: itself, or a tensor that is not made, with the extents that the
  // recipe (common/recipe.h) says. Made tensors have no source shards. Convert operations read, by
  // `making`, the source shards or the destination shards of what they are made from.
  Column<std::uint32_t> tensor_made_from;
  Column<std::uint8_t> tensor_recipe;  // Recipe
  Column<std::uint8_t> tensor_making;  // Making

  // Ranks: rank r is GPU (device) r of the topology. Ranks that take no part have no rows
  // elsewhere.
  Column<std::int32_t> rank_node;
  Column<std::int32_t> rank_domain;
  Column<std::int32_t> rank_gpu_model;
  Column<std::uint64_t> rank_memory_bytes;   // GPU memory; 0: unknown
  Column<std::uint64_t> rank_buffer_first;   // R + 1, into buffer_*
  Column<std::uint64_t> rank_shard_first;    // R + 1, into shard_*
  Column<std::uint64_t> rank_fill_first;     // R + 1, into fill_*
  Column<std::uint64_t> rank_op_first;       // R + 1, into rank_op
  Column<OpId> rank_op;                      // a rank's program: its operations by key
  Column<std::uint32_t> staging_slots;       // R x kSlotClasses
  Column<std::uint64_t> staging_slot_bytes;  // R x kSlotClasses

  // Buffers of a rank. One row stands for `count` buffers of equal size, numbered from `index`.
  Column<std::uint32_t> buffer_index;  // rank-local number of the first
  Column<std::uint32_t> buffer_count;
  Column<std::uint64_t> buffer_bytes;  // of each
  Column<std::uint32_t> buffer_alignment;
  Column<std::uint8_t> buffer_side;    // Side
  Column<std::uint8_t> buffer_class;   // BufferClass
  Column<std::uint8_t> buffer_commit;  // 0 in-place, 1 shadow
  Column<std::int32_t> buffer_post_group;
  Column<std::uint64_t> buffer_name;  // offset in names; 0: named by its tensor

  // Zero fills: bytes of destination buffers that belong to no element and that a refit leaves
  // zero (padding). Row i is bytes [fill_offset, fill_offset + fill_bytes) of fill_buffer_count
  // consecutive buffers from fill_buffer. What is neither an element nor filled is never touched.
  Column<std::uint32_t> fill_buffer;  // rank-local buffer number
  Column<std::uint32_t> fill_buffer_count;
  Column<std::uint64_t> fill_offset;
  Column<std::uint64_t> fill_bytes;

  // Shards: where one box of each tensor of a range lies in a rank's buffers. Rows of several
  // tensors may lie in one buffer; on the destination side no two of them share a byte.
  // Tensor first + i lies in buffer `buffer` + i / inner_count, at bit
  // bit_offset + (i % inner_count) * inner_bits, and inside by `loops`.
  Column<std::uint8_t> shard_side;  // Side
  Column<std::uint32_t> shard_tensor_first;
  Column<std::uint32_t> shard_tensor_count;
  Column<std::uint64_t> shard_box;     // offset in bounds
  Column<std::uint32_t> shard_buffer;  // rank-local buffer number
  Column<std::uint32_t> shard_inner_count;
  Column<std::uint64_t> shard_bit_offset;
  Column<std::uint64_t> shard_inner_bits;
  Column<std::uint32_t> shard_loop_first;  // into loop_*
  Column<std::uint8_t> shard_loops;
  // Loops, outermost first. A dimension may recur: its loops are the digits, outer to inner, of the
  // coordinate relative to the box.
  Column<std::uint8_t> loop_dim;
  Column<std::int64_t> loop_length;
  Column<std::int64_t> loop_stride_bits;

  // Slices and bundles.
  Column<std::uint32_t> slice_tensor_first;
  Column<std::uint32_t> slice_tensor_count;
  Column<std::uint32_t> slice_tensor_step;
  Column<std::uint64_t> slice_box;           // offset in bounds
  Column<std::uint64_t> bundle_slice_first;  // B + 1, into slice_*
  Column<std::uint64_t> bundle_bytes;

  // Links carry bytes; ports are ordered lists of operations in front of links (pack and unpack
  // share the HBM link). Port p posts its operations in key order, at most port_window[p] of them
  // unfinished.
  Column<std::uint8_t> link_kind;  // LinkKind
  Column<std::int64_t> link_rate;  // line, bytes/s; 0: costs no time
  Column<std::int64_t> link_efficiency_ppm;
  Column<std::uint64_t> link_name;
  Column<std::uint8_t> port_kind;  // PortKind
  Column<std::int32_t> port_rank;  // owner; a NIC shared by several GPUs: the first
  Column<std::uint32_t> port_link;
  Column<std::uint32_t> port_window;
  Column<std::int64_t> port_latency_ps;
  Column<std::int64_t> port_occupancy_ps;
  Column<std::uint64_t> port_name;
  // Paths: links without ports that a transfer loads besides the links of its two ports (up-links
  // of narrow switches, links between sites), and the latency of the way. Path 0 is empty.
  Column<std::uint64_t> path_link_first;  // P + 1, into path_link
  Column<std::uint32_t> path_link;
  Column<std::int64_t> path_latency_ps;
  // Strided copies: efficiency by run length, per GPU model (CSR by rank_gpu_model).
  Column<std::uint32_t> copy_rate_first;
  Column<std::uint64_t> copy_run_bytes;
  Column<std::int64_t> copy_efficiency_ppm;
  // Conversions: share of the HBM link's line rate, by GPU model, reads and writes together; 0: as
  // copies.
  Column<std::int64_t> convert_efficiency_ppm;

  // Operations.
  Column<std::uint64_t> op_key;
  Column<std::uint8_t> op_kind;    // OpKind
  Column<std::uint8_t> op_role;    // OpRole
  Column<std::int32_t> op_source;  // rank; for one-rank operations source == destination
  Column<std::int32_t> op_destination;
  Column<std::int32_t>
      op_out_port;  // transfers: sender's port; copies and host work: their one port
  Column<std::int32_t> op_in_port;    // transfers: receiver's port; else kNone
  Column<std::uint32_t> op_out_path;  // path from the sender's port to where the way turns
  Column<std::uint32_t> op_in_path;   // path from there to the receiver's port
  Column<std::int32_t> op_bundle;     // kNone for fences and host work
  Column<std::uint64_t> op_begin;     // byte range of the bundle's packed order
  Column<std::uint64_t> op_bytes;
  // Converts: `op_bundle` is what they write. kNone: they read shards; else the bundle that lies
  // whole in their source slot. And the bytes that they read.
  Column<std::int32_t> op_read_bundle;
  Column<std::uint64_t> op_read_bytes;
  Column<std::int32_t> op_source_slot;  // rank-local slot; kNone: read from the source's shards
  Column<std::int32_t> op_destination_slot;  // kNone: written to the destination's shards
  Column<std::int32_t> op_group;  // issue group of a transfer; kNone under windows and for copies
  Column<std::int32_t> op_collective;  // kNone, or the collective that the hop belongs to
  Column<std::uint32_t> op_chunk;      // number of the chunk within its route
  Column<std::uint16_t> op_hop;        // 0 pack, 1 first transfer, ...
  Column<std::uint32_t> op_run_bytes;  // copies: mean contiguous run on the strided side; 0: whole
  Column<std::int64_t> op_cost_ps;     // host work: its duration; copies: host time of the launch
  Column<std::uint64_t> op_after_first;   // N + 1, into op_after
  Column<OpId> op_after;                  // plain edges: predecessors
  Column<std::uint64_t> op_stream_first;  // N + 1, into op_stream
  Column<OpId> op_stream;                 // stream edges: upstream hops

  // Calls visit("name", column) for every column, in file order. The single list of columns.
  template <class Self, class Visitor>
  static void visit_columns(Self& self, Visitor&& visit);
};

template <class T>
using OwnedColumn = std::vector<T>;
template <class T>
using MappedColumn = std::span<const T>;

using PlanTables = PlanColumns<OwnedColumn>;

// What the header says besides the tables; kept as JSON in the file. Free to grow.
struct PlanHeader {
  std::string strategy;
  std::string strategy_notes;  // in-flight rule and the like, one line
  std::string job_name;
  std::string job_text;  // the job as it was read
  std::string topology_name;
  std::string planned_for;  // executor: nccl | net | mpi | host
  Discipline discipline = Discipline::kWindows;
  std::uint32_t window = 0;                // W
  std::uint32_t colours_per_group = 0;     // G
  std::uint32_t operations_per_group = 0;  // issue limit: transfers of one rank in one group
  bool one_sided = false;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t piece_bytes = 0;  // stream hops move pieces of this size
  std::uint64_t demand_classes = 0;
  std::uint64_t scale = 1;  // > 1: lengths were divided for a scaled run
  double bound_s = 0;
  double bound_line_rate_s = 0;
  std::string bound_name;
  // Fitted or unverified constants that the plan's costs rest on, each with its source: "name =
  // value (...)".
  std::vector<std::string> assumptions;
};

nlohmann::json to_json(const PlanHeader& header);
PlanHeader plan_header_from_json(const nlohmann::json& json);

template <template <class> class Column>
template <class Self, class Visitor>
void PlanColumns<Column>::visit_columns(Self& self, Visitor&& visit) {
  visit("names", self.names);
  visit("extents", self.extents);
  visit("bounds", self.bounds);
  visit("tensor_name", self.tensor_name);
  visit("tensor_shape", self.tensor_shape);
  visit("tensor_dims", self.tensor_dims);
  visit("tensor_dtype", self.tensor_dtype);
  visit("tensor_source", self.tensor_source);
  visit("tensor_made_from", self.tensor_made_from);
  visit("tensor_recipe", self.tensor_recipe);
  visit("tensor_making", self.tensor_making);
  visit("rank_node", self.rank_node);
  visit("rank_domain", self.rank_domain);
  visit("rank_gpu_model", self.rank_gpu_model);
  visit("rank_memory_bytes", self.rank_memory_bytes);
  visit("rank_buffer_first", self.rank_buffer_first);
  visit("rank_shard_first", self.rank_shard_first);
  visit("rank_fill_first", self.rank_fill_first);
  visit("rank_op_first", self.rank_op_first);
  visit("rank_op", self.rank_op);
  visit("staging_slots", self.staging_slots);
  visit("staging_slot_bytes", self.staging_slot_bytes);
  visit("buffer_index", self.buffer_index);
  visit("buffer_count", self.buffer_count);
  visit("buffer_bytes", self.buffer_bytes);
  visit("buffer_alignment", self.buffer_alignment);
  visit("buffer_side", self.buffer_side);
  visit("buffer_class", self.buffer_class);
  visit("buffer_commit", self.buffer_commit);
  visit("buffer_post_group", self.buffer_post_group);
  visit("buffer_name", self.buffer_name);
  visit("fill_buffer", self.fill_buffer);
  visit("fill_buffer_count", self.fill_buffer_count);
  visit("fill_offset", self.fill_offset);
  visit("fill_bytes", self.fill_bytes);
  visit("shard_side", self.shard_side);
  visit("shard_tensor_first", self.shard_tensor_first);
  visit("shard_tensor_count", self.shard_tensor_count);
  visit("shard_box", self.shard_box);
  visit("shard_buffer", self.shard_buffer);
  visit("shard_inner_count", self.shard_inner_count);
  visit("shard_bit_offset", self.shard_bit_offset);
  visit("shard_inner_bits", self.shard_inner_bits);
  visit("shard_loop_first", self.shard_loop_first);
  visit("shard_loops", self.shard_loops);
  visit("loop_dim", self.loop_dim);
  visit("loop_length", self.loop_length);
  visit("loop_stride_bits", self.loop_stride_bits);
  visit("slice_tensor_first", self.slice_tensor_first);
  visit("slice_tensor_count", self.slice_tensor_count);
  visit("slice_tensor_step", self.slice_tensor_step);
  visit("slice_box", self.slice_box);
  visit("bundle_slice_first", self.bundle_slice_first);
  visit("bundle_bytes", self.bundle_bytes);
  visit("link_kind", self.link_kind);
  visit("link_rate", self.link_rate);
  visit("link_efficiency_ppm", self.link_efficiency_ppm);
  visit("link_name", self.link_name);
  visit("port_kind", self.port_kind);
  visit("port_rank", self.port_rank);
  visit("port_link", self.port_link);
  visit("port_window", self.port_window);
  visit("port_latency_ps", self.port_latency_ps);
  visit("port_occupancy_ps", self.port_occupancy_ps);
  visit("port_name", self.port_name);
  visit("path_link_first", self.path_link_first);
  visit("path_link", self.path_link);
  visit("path_latency_ps", self.path_latency_ps);
  visit("copy_rate_first", self.copy_rate_first);
  visit("copy_run_bytes", self.copy_run_bytes);
  visit("copy_efficiency_ppm", self.copy_efficiency_ppm);
  visit("convert_efficiency_ppm", self.convert_efficiency_ppm);
  visit("op_key", self.op_key);
  visit("op_kind", self.op_kind);
  visit("op_role", self.op_role);
  visit("op_source", self.op_source);
  visit("op_destination", self.op_destination);
  visit("op_out_port", self.op_out_port);
  visit("op_in_port", self.op_in_port);
  visit("op_out_path", self.op_out_path);
  visit("op_in_path", self.op_in_path);
  visit("op_bundle", self.op_bundle);
  visit("op_begin", self.op_begin);
  visit("op_bytes", self.op_bytes);
  visit("op_read_bundle", self.op_read_bundle);
  visit("op_read_bytes", self.op_read_bytes);
  visit("op_source_slot", self.op_source_slot);
  visit("op_destination_slot", self.op_destination_slot);
  visit("op_group", self.op_group);
  visit("op_collective", self.op_collective);
  visit("op_chunk", self.op_chunk);
  visit("op_hop", self.op_hop);
  visit("op_run_bytes", self.op_run_bytes);
  visit("op_cost_ps", self.op_cost_ps);
  visit("op_after_first", self.op_after_first);
  visit("op_after", self.op_after);
  visit("op_stream_first", self.op_stream_first);
  visit("op_stream", self.op_stream);
}

}  // namespace transload
