#include "planner/strategy/gather_broadcast.h"

#include <algorithm>

#include "planner/strategy/collective_hops.h"
#include "planner/strategy/gather_constants.h"
#include "planner/strategy/rail_gather.h"
#include "planner/strategy/shard_rows.h"
#include "planner/strategy/sites.h"

namespace transload {
namespace {

class GatherBroadcast {
 public:
  GatherBroadcast(PlanBuilder& builder, const Fabric& fabric, const Job& job,
                  const GatherConstants& constants, const GatherBroadcastPart& part)
      : job_(job),
        constants_(constants),
        part_(part),
        builder_(builder),
        fabric_(fabric),
        exporters_(sites_of(job.problem.source_ranks, fabric_)),
        places_(exporters_, fabric.ranks.size()),
        emitter_(builder_, fabric_),
        first_group_(builder.next_group()) {
    lay_out_receivers();
    bucket_bytes_ = part.bucket_bytes.value_or(default_bucket_bytes());
  }

  std::int64_t emit() {
    const std::vector<Bucket> buckets = make_buckets(
        builder_, job_.problem, bucket_bytes_, [&](Rank rank) { return places_.of(rank); },
        part_.packed);
    emitter_.set_gate(part_.gate);
    for (const Bucket& bucket : buckets) emit_bucket(bucket);
    if (buckets.empty()) return bucket_bytes_;
    for (const std::vector<BroadcastSite>* sites : {&exporters_, &receivers_})
      for (const BroadcastSite& site : *sites)
        for (Rank rank : site.ranks)
          builder_.set_staging(rank, SlotClass::kBucket, CollectiveEmitter::kBucketSlots,
                               static_cast<std::uint64_t>(emitter_.largest_bucket()));
    return bucket_bytes_;
  }

 private:
  // The trainers of the root's domain hold every bucket once it is gathered and send it along the
  // rails; after them come the domains of the ranks that are not trainers themselves.
  void lay_out_receivers() {
    std::vector<Rank> others;
    std::set_difference(job_.problem.destination_ranks.begin(),
                        job_.problem.destination_ranks.end(), job_.problem.source_ranks.begin(),
                        job_.problem.source_ranks.end(), std::back_inserter(others));
    receivers_ = sites_of(others, fabric_);
  }

  std::int64_t default_bucket_bytes() const {
    std::int64_t memory = 0;
    for (Rank rank : job_.problem.source_ranks) {
      const auto model =
          static_cast<std::size_t>(job_.topology.gpus[static_cast<std::size_t>(rank)].model);
      const std::int64_t bytes = job_.topology.gpu_models[model].memory_bytes;
      memory = memory == 0 ? bytes : std::min(memory, bytes);
    }
    if (memory == 0) return constants_.bucket_default;
    const auto share =
        static_cast<std::int64_t>(constants_.bucket_memory_ratio * 1e6) * (memory / 1'000'000);
    return std::min(share, constants_.bucket_limit);
  }

  void emit_bucket(const Bucket& bucket) {
    emitter_.begin_bucket(bucket);
    const auto cost = [&](std::int64_t per_tensor) { return per_tensor * bucket.tensors; };
    for (const BucketPart& part : bucket.parts)
      emitter_.pack(part, 0, cost(constants_.export_per_tensor_ps));
    gather_over_rails(emitter_, phase(OpRole::kExport, 0), exporters_, places_, bucket.parts);
    broadcast(bucket);
    const auto run =
        static_cast<std::uint32_t>(std::min<std::int64_t>(bucket.load_run, UINT32_MAX));
    for (Rank rank : job_.problem.destination_ranks)
      emitter_.load(rank, run, cost(constants_.load_per_tensor_ps));
    ++number_;
  }

  CollectivePhase phase(OpRole role, std::int32_t later) const {
    const bool grouped = part_.discipline == Discipline::kGroups;
    return {2 * number_ + later, grouped ? first_group_ + number_ + later : kNone, role, later > 0};
  }

  // Along `broadcast_rails` rails from domain to domain, and along a line inside each.
  void broadcast(const Bucket& bucket) {
    const CollectivePhase broadcast_phase = phase(OpRole::kCollective, 1);
    const auto rails = static_cast<std::size_t>(constants_.broadcast_rails);
    std::vector<ByteRange> parts;
    const auto cut = [&](std::size_t i) {
      return static_cast<std::int64_t>(static_cast<__int128>(bucket.bytes) *
                                       static_cast<std::int64_t>(i) /
                                       static_cast<std::int64_t>(rails));
    };
    for (std::size_t rail = 0; rail < rails; ++rail) parts.push_back({cut(rail), cut(rail + 1)});
    const BroadcastSite* from = &exporters_.front();
    for (const BroadcastSite& site : receivers_) {
      std::vector<std::vector<ByteRange>> held(site.ranks.size());
      for (std::size_t rail = 0; rail < rails; ++rail) {
        emitter_.hop(broadcast_phase, from->on_rail(rail), site.on_rail(rail), {parts[rail]}, rail);
        held[rail % site.ranks.size()].push_back(parts[rail]);
      }
      emitter_.line_all_gather(broadcast_phase, site.ranks, held);
      from = &site;
    }
  }

  const Job& job_;
  const GatherConstants& constants_;
  const GatherBroadcastPart& part_;
  PlanBuilder& builder_;
  const Fabric& fabric_;
  std::vector<BroadcastSite> exporters_;
  RailPlaces places_;
  std::vector<BroadcastSite> receivers_;  // of the broadcast, in the order of its chain
  CollectiveEmitter emitter_;
  std::int32_t first_group_ = 0;
  std::int64_t bucket_bytes_ = 0;
  std::int32_t number_ = 0;
};

}  // namespace

std::int64_t emit_gather_broadcast(PlanBuilder& builder, const Fabric& fabric, const Job& job,
                                   const GatherConstants& constants,
                                   const GatherBroadcastPart& part) {
  return GatherBroadcast(builder, fabric, job, constants, part).emit();
}

Plan plan_gather_broadcast(const Job& job, const PlanningInput&, const StrategyChoice& strategy,
                           PlanHeader header) {
  const GatherConstants constants = load_gather_constants();
  PlanBuilder builder;
  const Fabric fabric = add_fabric(builder, job.topology, job.problem);
  add_tensors_and_shards(builder, job.problem);
  const std::int64_t bucket_bytes = emit_gather_broadcast(
      builder, fabric, job, constants, {{}, header.discipline, strategy.bucket_bytes, {}});
  const std::uint32_t window = job.options.window.value_or(16);
  set_windows(builder, fabric, window);
  header.window = window;
  header.colours_per_group = 1;
  header.operations_per_group = 0;  // a collective is one call, whatever its hops
  header.chunk_bytes = static_cast<std::uint64_t>(bucket_bytes);
  header.piece_bytes = static_cast<std::uint64_t>(constants.piece);
  header.assumptions = constants.assumptions;
  return builder.seal(header);
}

}  // namespace transload
