#include "planner/strategy/emit.h"

#include <algorithm>
#include <optional>

#include "common/check.h"
#include "planner/strategy/arrange.h"
#include "planner/strategy/receiver_conversions.h"

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

// Who must be done before each slot of a rank is used again: lists in one array, few of which are
// longer than two.
class SlotUsers {
 public:
  // `slots`: of each rank.
  explicit SlotUsers(const std::vector<std::uint32_t>& slots) {
    first_.reserve(slots.size());
    std::size_t total = 0;
    for (const std::uint32_t count : slots) {
      first_.push_back(total);
      total += count;
    }
    head_.assign(total, kEnd);
  }
  void add(Rank rank, std::int32_t slot, OpId op) {
    std::uint32_t& head = head_at(rank, slot);
    if (spare_ == kEnd) {
      users_.push_back({op, head});
      head = static_cast<std::uint32_t>(users_.size() - 1);
      return;
    }
    const std::uint32_t user = spare_;
    spare_ = users_[user].next;
    users_[user] = {op, head};
    head = user;
  }
  // Visits all users of the slot and forgets them.
  template <class Visit>
  void take(Rank rank, std::int32_t slot, Visit&& visit) {
    std::uint32_t& head = head_at(rank, slot);
    while (head != kEnd) {
      const std::uint32_t user = head;
      visit(users_[user].op);
      head = users_[user].next;
      users_[user].next = spare_;
      spare_ = user;
    }
  }

 private:
  static constexpr std::uint32_t kEnd = UINT32_MAX;
  struct User {
    OpId op = 0;
    std::uint32_t next = kEnd;
  };
  std::uint32_t& head_at(Rank rank, std::int32_t slot) {
    return head_[first_[static_cast<std::size_t>(rank)] + static_cast<std::size_t>(slot)];
  }
  std::vector<std::size_t> first_;   // by rank
  std::vector<std::uint32_t> head_;  // by slot of all ranks
  std::vector<User> users_;
  std::uint32_t spare_ = kEnd;
};

class Emitter {
 public:
  Emitter(PlanBuilder& builder, const Demand& demand, const Fabric& fabric, const RouteSet& routes,
          const std::vector<Chunk>& chunks, ClassRuns& runs, const BlockBorders& borders)
      : builder_(builder),
        demand_(demand),
        fabric_(fabric),
        routes_(routes),
        chunks_(chunks),
        runs_(runs),
        borders_(borders) {}

  void emit(const std::vector<Hop>& hops, const StagingNeed& need, std::int64_t chunk_bytes) {
    set_staging(need);
    reserve(hops);
    landed_.assign(hops.size(), {});
    for (std::size_t i = 0; i < hops.size(); ++i) {
      // Hops stand in the order of their keys, their chunks in that of their routes.
      if (i + kAhead < hops.size()) prefetch(hops[i + kAhead]);
      emit_hop(hops[i]);
    }
    emit_locals(std::max(chunk_bytes, kMaxChunk));
  }

 private:
  static constexpr std::size_t kAhead = 16;  // hops: a wait for memory is as long as some of them

  void prefetch(const Hop& hop) const {
    __builtin_prefetch(&chunks_[hop.chunk]);
    if (hop.from != kNoHop) __builtin_prefetch(&landed_[hop.from]);
  }

  void reserve(const std::vector<Hop>& hops) {
    std::size_t operations = hops.size();
    for (const Hop& hop : hops)
      operations += (hop.packs ? 1u : 0u) + (hop.lands && hop.wanted ? 1u : 0u);
    builder_.reserve_ops(operations, 2 * operations);
  }

  // The landing of a chunk: which operation, into which slot of its rank.
  struct Landing {
    OpId op = 0;
    std::int32_t slot = kNone;
    bool wanted = true;
  };

  void set_staging(const StagingNeed& need) {
    const std::size_t ranks = need.send.slots.size();
    land_first_ = need.send.slots;
    relay_first_ = need.land.slots;
    std::vector<std::uint32_t> slots = need.relay.slots;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      relay_first_[rank] += land_first_[rank];
      slots[rank] += relay_first_[rank];
      const auto set = [&](SlotClass slot_class, const StagingNeed::PerRank& of) {
        builder_.set_staging(static_cast<Rank>(rank), slot_class, of.slots[rank],
                             static_cast<std::uint64_t>(of.bytes[rank]));
      };
      set(SlotClass::kSend, need.send);
      set(SlotClass::kLand, need.land);
      set(SlotClass::kRelay, need.relay);
    }
    users_.emplace(slots);
  }

  // `op` writes the slot next: it waits for everybody who used it last.
  void take_slot(Rank rank, std::int32_t slot, OpId op) {
    users_->take(rank, slot, [&](OpId before) { builder_.add_after(op, before); });
  }

  OpSpec base(const Hop& hop) {
    const Chunk& chunk = chunks_[hop.chunk];
    OpSpec op;
    op.key = next_key_++;
    op.bundle = static_cast<std::int32_t>(chunk.demand_class);
    op.begin = static_cast<std::uint64_t>(chunk.begin);
    op.bytes = static_cast<std::uint64_t>(chunk.bytes);
    op.chunk = chunk.number;
    return op;
  }

  void emit_hop(const Hop& hop) {
    const OpId packed = hop.packs ? emit_pack(hop) : 0;
    OpSpec op = base(hop);
    op.kind = OpKind::kTransfer;
    op.role = role_of(hop);
    op.source = hop.source;
    op.destination = hop.destination;
    op.out_port = hop.out_port;
    op.in_port = hop.in_port;
    op.group = hop.group;
    op.hop = hop.depth;
    // The hops of a chunk that stream are one collective: a broadcast along its tree.
    if (hop.streams || hop.streamed) op.collective = static_cast<std::int32_t>(hop.chunk);
    if (hop.packs) op.source_slot = static_cast<std::int32_t>(hop.send_slot);
    if (hop.from != kNoHop) op.source_slot = landed_[hop.from].slot;
    if (hop.lands) op.destination_slot = land_slot(hop);
    const OpId transfer = builder_.add_op(op);
    if (hop.packs) builder_.add_after(transfer, packed);
    if (hop.from != kNoHop && hop.streams) builder_.add_stream(transfer, landed_[hop.from].op);
    if (hop.from != kNoHop && !hop.streams) builder_.add_after(transfer, landed_[hop.from].op);
    if (op.destination_slot != kNone) take_slot(hop.destination, op.destination_slot, transfer);
    if (op.source_slot != kNone) users_->add(hop.source, op.source_slot, transfer);
    const Landing landing{transfer, op.destination_slot, hop.wanted};
    if (hop.forwards > 0) landed_[hop.id] = landing;
    if (hop.lands && hop.wanted) emit_unpack(hop, landing);
  }

  OpRole role_of(const Hop& hop) const {
    if (hop.from != kNoHop && !landed_[hop.from].wanted) return OpRole::kRelay;
    if (fabric_.ranks[static_cast<std::size_t>(hop.source)].nvlink_out == hop.out_port)
      return OpRole::kFanOut;
    return hop.from == kNoHop ? OpRole::kInject : OpRole::kForward;
  }

  OpId emit_pack(const Hop& hop) {
    OpSpec op = base(hop);
    const bool converts = runs_.converts(static_cast<std::uint32_t>(op.bundle));
    op.kind = converts ? OpKind::kConvert : OpKind::kCopy;
    op.role = converts ? OpRole::kConvert : OpRole::kPack;
    op.source = op.destination = hop.source;
    op.out_port = fabric_.ranks[static_cast<std::size_t>(hop.source)].pack;
    op.run_bytes = hop.pack_run;
    op.destination_slot = static_cast<std::int32_t>(hop.send_slot);
    const OpId pack = builder_.add_op(op);
    take_slot(hop.source, op.destination_slot, pack);
    return pack;
  }

  void emit_unpack(const Hop& hop, const Landing& landing) {
    OpSpec op = base(hop);
    op.kind = OpKind::kCopy;
    op.role = OpRole::kUnpack;
    op.source = op.destination = hop.destination;
    op.out_port = fabric_.ranks[static_cast<std::size_t>(hop.destination)].unpack;
    op.run_bytes = hop.unpack_run;
    op.source_slot = landing.slot;
    op.hop = static_cast<std::uint16_t>(hop.depth + 1);
    const OpId unpack = builder_.add_op(op);
    builder_.add_after(unpack, landing.op);
    users_->add(hop.destination, landing.slot, unpack);
  }

  // Local copies wait for nobody and nobody waits for them: they come last in every list, in the
  // largest chunks, as each costs a launch (measured: 1.8 x the bound in chunks of 14 MB where a
  // rank keeps 80 GB of what it has).
  void emit_locals(std::int64_t chunk_bytes) {
    for (const LocalRoute& local : routes_.locals) {
      const std::int64_t total = demand_.classes[local.demand_class].bytes;
      std::uint32_t number = 0;
      const bool converts = runs_.converts(local.demand_class);
      std::int64_t end = 0;
      for (std::int64_t begin = 0; begin < total; begin = end) {
        end = borders_.before(local.demand_class, std::min(begin + chunk_bytes, total));
        // A row of blocks is longer than the chunk: up to the border behind it.
        for (std::int64_t more = 2; end == begin; ++more)
          end = borders_.before(local.demand_class, std::min(begin + more * chunk_bytes, total));
        OpSpec op;
        op.key = next_key_++;
        op.kind = converts ? OpKind::kConvert : OpKind::kCopy;
        op.role = converts ? OpRole::kConvert : OpRole::kLocal;
        op.source = op.destination = local.rank;
        op.out_port = fabric_.ranks[static_cast<std::size_t>(local.rank)].pack;
        op.bundle = static_cast<std::int32_t>(local.demand_class);
        const std::int64_t bytes = end - begin;
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

  std::int32_t land_slot(const Hop& hop) const {
    const auto rank = static_cast<std::size_t>(hop.destination);
    return static_cast<std::int32_t>((hop.wanted ? land_first_ : relay_first_)[rank] +
                                     hop.land_slot);
  }

  PlanBuilder& builder_;
  const Demand& demand_;
  const Fabric& fabric_;
  const RouteSet& routes_;
  const std::vector<Chunk>& chunks_;
  ClassRuns& runs_;
  const BlockBorders& borders_;
  std::optional<SlotUsers> users_;         // once staging is known
  std::vector<std::uint32_t> land_first_;  // by rank: its first slot of the class
  std::vector<std::uint32_t> relay_first_;
  std::vector<Landing> landed_;  // by hop id
  std::uint64_t next_key_ = 0;
};

}  // namespace

EmitResult emit_routes(PlanBuilder& builder, const ReshardProblem& problem, const Demand& demand,
                       const Fabric& fabric, const RouteSet& assigned, const EmitOptions& options) {
  add_bundles(builder, problem, demand);
  ClassRuns runs(problem, demand);
  const BlockBorders borders(problem, demand, runs.offsets());
  const RouteSet routes = on_block_borders(assigned, borders);
  const RouteTrees trees(routes, fabric);
  const Arrangement plan = arrange(runs, fabric, routes, trees, borders, options);
  Emitter(builder, demand, fabric, routes, plan.chunks, runs, borders)
      .emit(plan.hops, plan.need, plan.shape.chunk_bytes);
  emit_receiver_conversions(builder, problem, demand, runs.offsets(), fabric,
                            plan.shape.chunk_bytes);
  set_windows(builder, fabric, plan.shape.window);
  return {plan.shape.chunk_bytes, plan.shape.window, plan.shape.colours};
}

}  // namespace transload
