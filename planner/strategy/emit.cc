#include "planner/strategy/emit.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/check.h"
#include "common/error.h"
#include "common/units.h"
#include "planner/strategy/hops.h"

namespace transload {
namespace {

void add_bundles(PlanBuilder& builder, const ReshardProblem& problem, const Demand& demand) {
  std::vector<SliceSpec> slices;
  for (std::uint32_t c = 0; c < demand.classes.size(); ++c) {
    slices.clear();
    for (const DemandSlice& slice : demand.classes[c].slices) {
      const TensorGroup& group = problem.groups[slice.group];
      slices.push_back({group.first, group.count, 1, builder.add_box(slice.box.bounds)});
    }
    const std::int32_t bundle = builder.add_bundle(slices);
    TRANSLOAD_CHECK(bundle == static_cast<std::int32_t>(c), "bundles are numbered as classes");
  }
}

// The slots of one class of one rank, taken in turn; each remembers who must be done before its
// next use.
class SlotRing {
 public:
  void resize(std::uint32_t slots) { releasers_.resize(slots); }
  // Takes the next slot; `op` waits for everybody who used it last.
  std::uint32_t acquire(PlanBuilder& builder, OpId op) {
    const std::uint32_t slot = next_;
    next_ = next_ + 1 == releasers_.size() ? 0 : next_ + 1;
    for (OpId before : releasers_[slot]) builder.add_after(op, before);
    releasers_[slot].clear();
    return slot;
  }
  void release_after(std::uint32_t slot, OpId op) { releasers_[slot].push_back(op); }

 private:
  std::vector<std::vector<OpId>> releasers_;
  std::uint32_t next_ = 0;
};

class Emitter {
 public:
  Emitter(PlanBuilder& builder, const Demand& demand, const Fabric& fabric, const RouteSet& routes,
          const std::vector<Chunk>& chunks, const ClassRuns& runs)
      : builder_(builder),
        demand_(demand),
        fabric_(fabric),
        routes_(routes),
        chunks_(chunks),
        runs_(runs) {}

  void emit(const std::vector<Hop>& hops, const StagingNeed& need, std::int64_t chunk_bytes) {
    reserve_slots(need);
    builder_.reserve_ops(3 * hops.size(), 6 * hops.size());
    landed_.assign(chunks_.size(), {});
    for (const Hop& hop : hops) emit_hop(hop);
    emit_locals(chunk_bytes);
  }

 private:
  // The landing of a chunk that is handed on: which operation, into which slot.
  struct Landing {
    OpId op = 0;
    std::uint32_t slot = 0;
  };

  void reserve_slots(const StagingNeed& need) {
    send_.resize(need.send_slots.size());
    land_.resize(need.land_slots.size());
    send_slots_ = need.send_slots;
    for (std::size_t rank = 0; rank < need.send_slots.size(); ++rank) {
      send_[rank].resize(need.send_slots[rank]);
      land_[rank].resize(need.land_slots[rank]);
      builder_.set_staging(static_cast<Rank>(rank), SlotClass::kSend, need.send_slots[rank],
                           static_cast<std::uint64_t>(need.send_bytes[rank]));
      builder_.set_staging(static_cast<Rank>(rank), SlotClass::kLand, need.land_slots[rank],
                           static_cast<std::uint64_t>(need.land_bytes[rank]));
    }
  }

  OpSpec base(const Hop& hop) {
    const Chunk& chunk = chunks_[hop.chunk];
    const Route& route = routes_.routes[chunk.route];
    OpSpec op;
    op.key = next_key_++;
    op.bundle = static_cast<std::int32_t>(route.demand_class);
    op.begin = static_cast<std::uint64_t>(chunk.begin);
    op.bytes = static_cast<std::uint64_t>(chunk.bytes);
    op.chunk = chunk.number;
    return op;
  }

  void emit_hop(const Hop& hop) {
    std::int32_t source_slot = kNone;
    OpId packed = 0;
    if (hop.packs) packed = emit_pack(hop, source_slot);
    OpSpec op = base(hop);
    op.kind = OpKind::kTransfer;
    op.role =
        hop.hop > 0 || is_nvlink(hop.source, hop.out_port) ? OpRole::kFanOut : OpRole::kInject;
    op.source = hop.source;
    op.destination = hop.destination;
    op.out_port = hop.out_port;
    op.in_port = hop.in_port;
    op.group = hop.group;
    op.hop = static_cast<std::uint16_t>(hop.hop > 0 ? 2 : 1);
    const Landing from = landed_[hop.chunk];
    if (hop.hop > 0) source_slot = land_slot(hop.source, from.slot);
    op.source_slot = source_slot;
    std::uint32_t slot = 0;
    const OpId transfer = static_cast<OpId>(builder_.operations());
    if (hop.unpacks) {
      slot = land_[static_cast<std::size_t>(hop.destination)].acquire(builder_, transfer);
      op.destination_slot = land_slot(hop.destination, slot);
    }
    builder_.add_op(op);
    if (hop.packs) {
      builder_.add_after(transfer, packed);
      send_[static_cast<std::size_t>(hop.source)].release_after(
          static_cast<std::uint32_t>(source_slot), transfer);
    }
    if (hop.hop > 0) {
      builder_.add_after(transfer, from.op);
      land_[static_cast<std::size_t>(hop.source)].release_after(from.slot, transfer);
    } else {
      landed_[hop.chunk] = {transfer, slot};
    }
    if (hop.unpacks) emit_unpack(hop, transfer, slot);
  }

  OpId emit_pack(const Hop& hop, std::int32_t& slot) {
    OpSpec op = base(hop);
    op.kind = OpKind::kCopy;
    op.role = OpRole::kPack;
    op.source = op.destination = hop.source;
    op.out_port = fabric_.ranks[static_cast<std::size_t>(hop.source)].pack;
    op.run_bytes = hop.pack_run;
    const auto pack = static_cast<OpId>(builder_.operations());
    slot = static_cast<std::int32_t>(
        send_[static_cast<std::size_t>(hop.source)].acquire(builder_, pack));
    op.destination_slot = slot;
    return builder_.add_op(op);
  }

  void emit_unpack(const Hop& hop, OpId transfer, std::uint32_t slot) {
    OpSpec op = base(hop);
    op.kind = OpKind::kCopy;
    op.role = OpRole::kUnpack;
    op.source = op.destination = hop.destination;
    op.out_port = fabric_.ranks[static_cast<std::size_t>(hop.destination)].unpack;
    op.run_bytes = hop.unpack_run;
    op.source_slot = land_slot(hop.destination, slot);
    op.hop = static_cast<std::uint16_t>(hop.hop > 0 ? 3 : 2);
    const OpId unpack = builder_.add_op(op);
    builder_.add_after(unpack, transfer);
    land_[static_cast<std::size_t>(hop.destination)].release_after(slot, unpack);
  }

  // Local copies wait for nobody and nobody waits for them: they come last in every list.
  void emit_locals(std::int64_t chunk_bytes) {
    for (const LocalRoute& local : routes_.locals) {
      const std::int64_t total = demand_.classes[local.demand_class].bytes;
      std::uint32_t number = 0;
      for (std::int64_t begin = 0; begin < total; begin += chunk_bytes) {
        OpSpec op;
        op.key = next_key_++;
        op.kind = OpKind::kCopy;
        op.role = OpRole::kLocal;
        op.source = op.destination = local.rank;
        op.out_port = fabric_.ranks[static_cast<std::size_t>(local.rank)].pack;
        op.bundle = static_cast<std::int32_t>(local.demand_class);
        const std::int64_t bytes = std::min(chunk_bytes, total - begin);
        op.begin = static_cast<std::uint64_t>(begin);
        op.bytes = static_cast<std::uint64_t>(bytes);
        op.chunk = number++;
        const auto run = [&](Side side) {
          return runs_.on_rank(local.demand_class, begin, bytes, local.rank, side).mean_run;
        };
        op.run_bytes = static_cast<std::uint32_t>(std::min<std::int64_t>(
            std::min(run(Side::kSource), run(Side::kDestination)), UINT32_MAX));
        builder_.add_op(op);
      }
    }
  }

  std::int32_t land_slot(Rank rank, std::uint32_t slot) const {
    return static_cast<std::int32_t>(send_slots_[static_cast<std::size_t>(rank)] + slot);
  }

  bool is_nvlink(Rank source, std::int32_t out_port) const {
    return fabric_.ranks[static_cast<std::size_t>(source)].nvlink_out == out_port;
  }

  PlanBuilder& builder_;
  const Demand& demand_;
  const Fabric& fabric_;
  const RouteSet& routes_;
  const std::vector<Chunk>& chunks_;
  const ClassRuns& runs_;
  std::vector<SlotRing> send_;
  std::vector<SlotRing> land_;
  std::vector<std::uint32_t> send_slots_;
  std::vector<Landing> landed_;  // by chunk
  std::uint64_t next_key_ = 0;
};

}  // namespace

EmitResult emit_routes(PlanBuilder& builder, const ReshardProblem& problem, const Demand& demand,
                       const Fabric& fabric, const RouteSet& routes, const EmitOptions& options) {
  add_bundles(builder, problem, demand);
  const ClassRuns runs(problem, demand);
  EmitOptions shape = options;
  if (shape.chunk_bytes == 0) shape.chunk_bytes = auto_chunk_bytes(fabric, routes, shape.window);
  while (true) {
    const std::vector<Chunk> chunks = cut_chunks(routes, shape.chunk_bytes);
    const std::vector<Hop> hops = order_hops(runs, fabric, routes, chunks, shape);
    const StagingNeed need = staging_need(hops, chunks, fabric, shape);
    const bool grouped = shape.discipline == Discipline::kGroups;
    std::uint32_t& width = grouped ? shape.colours : shape.window;
    if (grouped && width > 1 &&
        most_operations_per_group(hops, fabric.ranks.size()) > shape.operations_per_group) {
      width = std::max<std::uint32_t>(1, width / 2);
      continue;
    }
    if (need.most_bytes <= shape.staging_bytes) {
      Emitter(builder, demand, fabric, routes, chunks, runs).emit(hops, need, shape.chunk_bytes);
      set_windows(builder, fabric, shape.window);
      return {shape.chunk_bytes, shape.window, shape.colours};
    }
    if (shape.chunk_bytes > kMinChunk) {
      // One step to the size that fits if the number of slots stays as it is.
      const auto fitting = static_cast<std::int64_t>(static_cast<__int128>(shape.chunk_bytes) *
                                                     shape.staging_bytes / need.most_bytes);
      shape.chunk_bytes = std::clamp(std::min(fitting, shape.chunk_bytes * 15 / 16), kMinChunk,
                                     shape.chunk_bytes - 1);
    } else if (width > 2) {
      width = std::max<std::uint32_t>(2, width / 2);
    } else {
      throw InputError(fmt::format(
          "options.staging_bytes: rank {} needs at least {} of staging (chunks of {}, {} {}), the "
          "limit is {}",
          need.most_rank, format_bytes(static_cast<double>(need.most_bytes)),
          format_bytes(static_cast<double>(shape.chunk_bytes)), grouped ? "colours" : "window",
          width, format_bytes(static_cast<double>(shape.staging_bytes))));
    }
  }
}

}  // namespace transload
