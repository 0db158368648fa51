// Making a plan by hand or by strategy: rows are added in any order, `seal` sorts operations by
// key, numbers them, lays out every CSR and seals the file image.
//
// Strategies use it through planner/strategy; tests build small plans with it directly.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/dtype.h"
#include "planner/schedule/plan_file.h"

namespace transload {

struct LoopSpec {
  std::uint8_t dim = 0;
  std::int64_t length = 0;
  std::int64_t stride_bits = 0;
  friend bool operator==(const LoopSpec&, const LoopSpec&) = default;
};

// What is said about buffers besides their size.
struct BufferTraits {
  BufferClass buffer_class = BufferClass::kDirect;
  bool shadow_commit = false;       // a second buffer and an atomic switch, not in place
  std::int32_t post_group = kNone;  // buffers of one group are post-processed together
  std::uint32_t alignment = 256;    // what cudaMalloc guarantees
};

struct ShardSpec {
  Side side = Side::kSource;
  std::uint32_t tensor_first = 0;
  std::uint32_t tensor_count = 1;
  std::uint64_t box = 0;
  std::uint32_t buffer = 0;
  std::uint32_t inner_count = 1;
  std::uint64_t bit_offset = 0;
  std::uint64_t inner_bits = 0;
  std::vector<LoopSpec> loops;
  friend bool operator==(const ShardSpec&, const ShardSpec&) = default;
};

struct SliceSpec {
  std::uint32_t tensor_first = 0;
  std::uint32_t tensor_count = 1;
  std::uint32_t tensor_step = 1;
  std::uint64_t box = 0;
};

// One operation before numbering. `key` orders it globally; keys need not be dense but must be
// unique.
struct OpSpec {
  std::uint64_t key = 0;
  OpKind kind = OpKind::kTransfer;
  OpRole role = OpRole::kInject;
  std::int32_t source = 0;
  std::int32_t destination = 0;
  std::int32_t out_port = kNone;
  std::int32_t in_port = kNone;
  std::uint32_t out_path = 0;
  std::uint32_t in_path = 0;
  std::int32_t bundle = kNone;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::int32_t read_bundle = kNone;  // converts that read a slot: what lies in it
  std::int32_t source_slot = kNone;
  std::int32_t destination_slot = kNone;
  std::int32_t group = kNone;
  std::int32_t collective = kNone;
  std::uint32_t chunk = 0;
  std::uint16_t hop = 0;
  std::uint32_t run_bytes = 0;
  std::int64_t cost_ps = 0;
};

class PlanBuilder {
 public:
  PlanBuilder();

  // Ranks must be added first; rank r is the r-th added.
  std::int32_t add_rank(std::int32_t node, std::int32_t domain, std::int32_t gpu_model,
                        std::uint64_t memory_bytes);
  // One call per GPU model, in order: (run bytes, efficiency ppm) ascending; empty: copies run
  // at 1. `convert_ppm`: conversions, of the HBM link's line rate; 0: as copies.
  void add_gpu_model(std::span<const std::pair<std::uint64_t, std::int64_t>> copy_rates,
                     std::int64_t convert_ppm = 0);
  std::uint32_t add_link(LinkKind kind, std::int64_t rate, std::int64_t efficiency_ppm,
                         std::string_view name);
  std::int32_t add_port(PortKind kind, std::int32_t rank, std::uint32_t link, std::uint32_t window,
                        std::int64_t latency_ps, std::int64_t occupancy_ps, std::string_view name);
  // A path of links without ports, in the order in which bytes pass; path 0, the empty one, is
  // always there.
  std::uint32_t add_path(std::span<const std::uint32_t> links, std::int64_t latency_ps);
  // Called for every transfer that is added: sets its paths. For those who know the fabric, so that
  // those who make operations need not.
  using PathFinder = std::function<void(OpSpec& transfer)>;
  void set_path_finder(PathFinder finder) { path_finder_ = std::move(finder); }
  void set_port_window(std::int32_t port, std::uint32_t window);
  // `source`: the tensor whose data this is under another name (shape and dtype are equal); a name
  // of a name becomes a name of its tensor. Slices and destination shards of the new name are
  // ordinary ones; source shards given for it become shards of `source` (twins are dropped).
  std::uint32_t add_tensor(std::string_view name, std::span<const std::int64_t> shape, DType dtype,
                           std::optional<std::uint32_t> source = {});
  // The tensor is made from `from`, which is not made itself. What converts read is counted when
  // the plan is sealed.
  void set_made(std::uint32_t tensor, std::uint32_t from, Recipe recipe, Making making);
  // Bounds lo, hi per dimension; equal boxes are stored once.
  std::uint64_t add_box(std::span<const std::int64_t> bounds);
  // Returns the rank-local number of the first of `count` buffers of `bytes` each. Any number of
  // shards, of any tensors, may be laid into one buffer.
  std::uint32_t add_buffers(std::int32_t rank, Side side, std::uint64_t bytes, std::uint32_t count,
                            std::string_view name = {}, const BufferTraits& traits = {});
  void add_shard(std::int32_t rank, const ShardSpec& shard);
  // Bytes [offset, offset + bytes) of `count` destination buffers from rank-local number `buffer`
  // are zero after every refit: padding that some kernel reads. They belong to no shard and to no
  // other fill. Nothing to do for no bytes.
  void add_fill(std::int32_t rank, std::uint32_t buffer, std::uint32_t count, std::uint64_t offset,
                std::uint64_t bytes);
  // A dense row-major shard of `count` tensors from `tensor`, each in a buffer of its own.
  void add_dense_shard(std::int32_t rank, Side side, std::uint32_t tensor, std::uint32_t count,
                       std::span<const std::int64_t> bounds);
  std::int32_t add_bundle(std::span<const SliceSpec> slices);
  std::uint64_t bundle_bytes(std::int32_t bundle) const;
  void set_staging(std::int32_t rank, SlotClass slot_class, std::uint32_t slots,
                   std::uint64_t slot_bytes);

  // The number of the rank's first slot of the class, as far as its staging is set.
  std::int32_t first_slot(std::int32_t rank, SlotClass slot_class) const;

  // Returns a handle (insertion number) for add_after / add_stream.
  OpId add_op(const OpSpec& op);
  void add_after(OpId op, OpId predecessor);
  void add_stream(OpId op, OpId upstream);
  void reserve_ops(std::size_t operations, std::size_t edges);
  std::size_t operations() const { return tables_.op_key.size(); }
  // As it was added, but with the paths that it found.
  OpSpec operation(OpId op) const;
  // What follows all operations so far.
  std::uint64_t next_key() const;
  std::int32_t next_group() const;

  Plan seal(const PlanHeader& header);

 private:
  std::uint64_t add_name(std::string_view name);
  std::uint64_t add_extents(std::span<const std::int64_t> shape);
  void lay_out_rank_tables();
  void lay_out_buffers();
  void lay_out_shards();
  void lay_out_fills();
  void name_sources_by_their_tensor();
  void append_op(const OpSpec& op);
  template <class Visit>
  void for_each_op_column(Visit&& visit);
  // Sorts operations by key. By handle: their numbers; empty where each keeps its own.
  std::vector<OpId> number_operations();
  void lay_out_edges(const std::vector<OpId>& number,
                     const std::vector<std::pair<OpId, OpId>>& edges,
                     std::vector<std::uint64_t>& first, std::vector<OpId>& targets) const;
  void lay_out_programs();

  struct BufferRow {
    std::int32_t rank;
    std::uint32_t index;
    std::uint32_t count;
    std::uint64_t bytes;
    Side side;
    std::uint64_t name;
    BufferTraits traits;
  };
  struct FillRow {
    std::int32_t rank;
    std::uint32_t buffer;
    std::uint32_t count;
    std::uint64_t offset;
    std::uint64_t bytes;
  };

  PlanTables tables_;
  PathFinder path_finder_;
  bool keys_ascend_ = true;                    // as operations were added
  std::vector<std::pair<OpId, OpId>> after_;   // (op, predecessor)
  std::vector<std::pair<OpId, OpId>> stream_;  // (op, upstream)
  std::vector<BufferRow> buffers_;
  std::vector<std::uint32_t> next_buffer_;  // per rank
  std::vector<std::pair<std::int32_t, ShardSpec>> shards_;
  std::vector<FillRow> fills_;
  bool has_other_names_ = false;  // a tensor whose data is another's
  std::unordered_map<std::string, std::uint64_t> box_of_bounds_;  // look-up only, never iterated
  std::unordered_map<std::string, std::uint64_t> extents_of_shape_;
};

}  // namespace transload
