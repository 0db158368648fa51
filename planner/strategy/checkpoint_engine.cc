#include "planner/strategy/checkpoint_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "common/units.h"
#include "planner/strategy/checkpoint_buckets.h"
#include "planner/strategy/checkpoint_readers.h"
#include "planner/strategy/collective_hops.h"
#include "planner/strategy/shard_rows.h"
#include "planner/strategy/sites.h"

namespace transload {
namespace {

class CheckpointEngine {
 public:
  CheckpointEngine(const Job& job, const StrategyChoice& strategy, PlanHeader header)
      : job_(job),
        constants_(load_checkpoint_constants()),
        p2p_(strategy.mode == "p2p"),
        header_(std::move(header)),
        fabric_(add_fabric(builder_, job.topology, job.problem)),
        emitter_(builder_, fabric_),
        shape_(*bucket_shape(job, constants_, strategy.bucket_bytes)) {
    add_tensors_and_shards(builder_, job.problem);
  }

  Plan make() {
    const std::vector<OwnerBuckets> owners =
        make_owner_buckets(builder_, job_.problem, shape_.bytes);
    for (const BucketRound& round :
         p2p_ ? read_rounds(owners, job_.problem.destination_ranks, fabric_) : own_rounds(owners))
      emit_round(round);
    reserve_slots();
    const std::uint32_t window = job_.options.window.value_or(16);
    set_windows(builder_, fabric_, window);
    header_.window = window;
    header_.colours_per_group = 1;
    header_.operations_per_group = 0;  // a broadcast is one call, whatever its hops
    header_.chunk_bytes = static_cast<std::uint64_t>(shape_.bytes);
    header_.piece_bytes = static_cast<std::uint64_t>(constants_.piece);
    header_.assumptions = constants_.assumptions;
    return builder_.seal(header_);
  }

 private:
  // With a third buffer all buckets of a round come to their GPUs at once; without, each when its
  // turn is there.
  void emit_round(const BucketRound& round) {
    const std::uint64_t first = number_ + 1;
    std::vector<OpId> fetched;
    if (shape_.third_buffer) {
      const std::int32_t group = next_group();
      for (std::size_t i = 0; i < round.size(); ++i) fetch(round[i], first + i, group);
      fetched = emitter_.take_made();
    }
    std::vector<OpId> gate = barrier_;
    if (!fetched.empty()) gate = {fence(round.front().rank, fetched)};
    for (const RoundBucket& entry : round) {
      ++number_;
      if (!shape_.third_buffer) {
        fetch(entry, number_, next_group());
        fetched = emitter_.take_made();
        gate = {fence(entry.rank, fetched)};
      }
      emitter_.set_gate(gate);
      emitter_.select_bucket(*entry.bucket, number_, assembler(entry));
      broadcast(entry);
      std::vector<OpId> done = emitter_.take_made();
      done.insert(done.end(), loads_.begin(), loads_.end());
      barrier_ = gate = {fence(entry.rank, done)};
      load(*entry.bucket);
    }
  }

  OpId fence(Rank rank, const std::vector<OpId>& operations) {
    emitter_.set_gate(barrier_);
    const OpId fence = emitter_.fence(rank, operations);
    emitter_.set_gate({fence});
    return fence;
  }

  Rank assembler(const RoundBucket& entry) const {
    return shape_.third_buffer ? entry.rank : kNone;
  }

  // From the owner's host memory to the GPU that broadcasts it.
  void fetch(const RoundBucket& entry, std::uint64_t number, std::int32_t group) {
    const Bucket& bucket = *entry.bucket;
    emitter_.set_gate(barrier_);
    emitter_.select_bucket(bucket, number, assembler(entry));
    const Rank owner = bucket.parts.front().owner;
    if (owner == entry.rank)
      emitter_.pack(bucket.parts.front(), 0, duration_ps(bucket.bytes, constants_.h2d_rate));
    else
      emitter_.read({kNone, grouped() ? group : kNone, OpRole::kInject, false}, owner, entry.rank);
    assemblers_.insert(entry.rank);
  }

  // Along `broadcast_rails` rails from domain to domain, first of all inside the root's own.
  void broadcast(const RoundBucket& entry) {
    const CollectivePhase phase{static_cast<std::int32_t>(number_),
                                grouped() ? next_group() : kNone, OpRole::kCollective, false};
    const auto rails = static_cast<std::size_t>(constants_.broadcast_rails);
    const BroadcastSite home = home_site(entry.rank);
    const std::vector<BroadcastSite> away = other_sites(home.domain);
    if (away.empty() && home.ranks.size() == 1) return;
    const std::int64_t bytes = entry.bucket->bytes;
    std::vector<ByteRange> parts;
    for (std::size_t rail = 0; rail < rails; ++rail)
      parts.push_back(
          {bytes * static_cast<std::int64_t>(rail) / static_cast<std::int64_t>(rails),
           bytes * static_cast<std::int64_t>(rail + 1) / static_cast<std::int64_t>(rails)});
    std::vector<std::vector<ByteRange>> at_root(home.ranks.size());
    at_root.front() = {{0, bytes}};
    emitter_.line_all_gather(phase, home.ranks, at_root);
    const BroadcastSite* from = &home;
    for (const BroadcastSite& site : away) {
      std::vector<std::vector<ByteRange>> held(site.ranks.size());
      for (std::size_t rail = 0; rail < rails; ++rail) {
        emitter_.hop(phase, from->on_rail(rail), site.on_rail(rail), {parts[rail]}, rail);
        held[rail % site.ranks.size()].push_back(parts[rail]);
      }
      emitter_.line_all_gather(phase, site.ranks, held);
      from = &site;
    }
    takers_.insert(home.ranks.begin(), home.ranks.end());
  }

  // The root, the engines of its domain, and as many of the domain's other ranks as rails need.
  BroadcastSite home_site(Rank root) const {
    const std::int32_t domain = fabric_.domain[static_cast<std::size_t>(root)];
    BroadcastSite site{domain, {root}};
    const auto add = [&](const std::vector<Rank>& ranks, std::size_t most) {
      for (const Rank rank : ranks)
        if (site.ranks.size() < most && rank != root &&
            fabric_.domain[static_cast<std::size_t>(rank)] == domain &&
            std::find(site.ranks.begin(), site.ranks.end(), rank) == site.ranks.end())
          site.ranks.push_back(rank);
    };
    add(job_.problem.destination_ranks, SIZE_MAX);
    // In P2P mode the owners' side does not act.
    if (!p2p_ && !other_sites(domain).empty() && has_nvlink(root))
      add(job_.problem.source_ranks, static_cast<std::size_t>(constants_.broadcast_rails));
    return site;
  }

  bool has_nvlink(Rank rank) const {
    return fabric_.ranks[static_cast<std::size_t>(rank)].nvlink_out != kNone;
  }

  std::vector<BroadcastSite> other_sites(std::int32_t domain) const {
    std::vector<BroadcastSite> sites = sites_of(job_.problem.destination_ranks, fabric_);
    std::erase_if(sites, [&](const BroadcastSite& site) { return site.domain == domain; });
    return sites;
  }

  void load(const Bucket& bucket) {
    const auto run =
        static_cast<std::uint32_t>(std::min<std::int64_t>(bucket.load_run, UINT32_MAX));
    for (const Rank rank : job_.problem.destination_ranks)
      emitter_.load(rank, run, constants_.load_per_tensor_ps * bucket.tensors);
    loads_ = emitter_.take_made();
  }

  void reserve_slots() {
    std::set<Rank> ranks = takers_;
    ranks.insert(job_.problem.destination_ranks.begin(), job_.problem.destination_ranks.end());
    ranks.insert(assemblers_.begin(), assemblers_.end());
    for (const Rank rank : ranks) {
      const bool assembles = shape_.third_buffer && assemblers_.contains(rank);
      builder_.set_staging(rank, SlotClass::kBucket,
                           CollectiveEmitter::kBucketSlots + (assembles ? 1 : 0),
                           static_cast<std::uint64_t>(emitter_.largest_bucket()));
    }
  }

  bool grouped() const { return header_.discipline == Discipline::kGroups; }
  std::int32_t next_group() { return group_++; }

  const Job& job_;
  CheckpointConstants constants_;
  bool p2p_ = false;
  PlanHeader header_;
  PlanBuilder builder_;
  Fabric fabric_;
  CollectiveEmitter emitter_;
  BucketShape shape_;
  std::vector<OpId> barrier_;  // the last bucket's
  std::vector<OpId> loads_;    // of the last bucket
  std::set<Rank> assemblers_;
  std::set<Rank> takers_;
  std::uint64_t number_ = 0;
  std::int32_t group_ = 0;
};

}  // namespace

std::vector<Unsupported> refuse_checkpoint_engine(const Job& job, const PlanningInput&,
                                                  const StrategyChoice& strategy) {
  RefusalList list;
  const ReshardProblem& problem = job.problem;
  for (const TensorGroup& group : problem.groups)
    if (!problem.layouts[group.source].cells.empty() && whole_holders(problem, group).empty())
      list.add("whole tensors in the host memory of one rank",
               fmt::format("parts of it on {} source ranks",
                           problem.layouts[group.source].shards.size()),
               problem.names[group.first]);
  const CheckpointConstants constants = load_checkpoint_constants();
  if (!bucket_shape(job, constants, strategy.bucket_bytes)) {
    const LargestTensor largest = largest_tensor(problem);
    list.add("the largest tensor fits half of the memory that weights leave free",
             format_bytes(static_cast<double>(largest.bytes)), problem.names[largest.tensor]);
  }
  return list.take();
}

Plan plan_checkpoint_engine(const Job& job, const PlanningInput&, const StrategyChoice& strategy,
                            PlanHeader header) {
  return CheckpointEngine(job, strategy, std::move(header)).make();
}

}  // namespace transload
