#include "planner/strategy/gather_broadcast.h"

#include <algorithm>
#include <map>

#include "planner/strategy/collective_hops.h"
#include "planner/strategy/gather_constants.h"
#include "planner/strategy/shard_rows.h"

namespace transload {
namespace {

// The ranks of one NVLink domain that take part in a collective.
struct Site {
  std::int32_t domain = 0;
  std::vector<Rank> ranks;
  Rank on_rail(std::size_t rail) const { return ranks[rail % ranks.size()]; }
};

std::vector<Site> sites_of(const std::vector<Rank>& ranks, const Fabric& fabric) {
  std::map<std::int32_t, std::vector<Rank>> by_domain;
  for (Rank rank : ranks) by_domain[fabric.domain[static_cast<std::size_t>(rank)]].push_back(rank);
  std::vector<Site> sites;
  sites.reserve(by_domain.size());
  for (auto& [domain, members] : by_domain) sites.push_back({domain, std::move(members)});
  return sites;
}

class GatherBroadcast {
 public:
  GatherBroadcast(const Job& job, const GatherConstants& constants, const StrategyChoice& strategy,
                  PlanHeader header)
      : job_(job),
        constants_(constants),
        header_(std::move(header)),
        fabric_(add_fabric(builder_, job.topology, job.problem)),
        exporters_(sites_of(job.problem.source_ranks, fabric_)),
        emitter_(builder_, fabric_) {
    add_tensors_and_shards(builder_, job.problem);
    lay_out_receivers();
    bucket_bytes_ = strategy.bucket_bytes.value_or(default_bucket_bytes());
    for (const Site& site : exporters_) rails_ = std::max(rails_, site.ranks.size());
  }

  Plan make() {
    const std::vector<Bucket> buckets = make_buckets(builder_, job_.problem, bucket_bytes_,
                                                     [&](Rank rank) { return export_place(rank); });
    for (const Bucket& bucket : buckets) emit_bucket(bucket);
    for (const std::vector<Site>* sites : {&exporters_, &receivers_})
      for (const Site& site : *sites)
        for (Rank rank : site.ranks)
          builder_.set_staging(rank, SlotClass::kBucket, CollectiveEmitter::kBucketSlots,
                               static_cast<std::uint64_t>(emitter_.largest_bucket()));
    const std::uint32_t window = job_.options.window.value_or(16);
    set_windows(builder_, fabric_, window);
    header_.window = window;
    header_.colours_per_group = 1;
    header_.operations_per_group = 0;  // a collective is one call, whatever its hops
    header_.chunk_bytes = static_cast<std::uint64_t>(bucket_bytes_);
    header_.piece_bytes = static_cast<std::uint64_t>(constants_.piece);
    header_.assumptions = constants_.assumptions;
    return builder_.seal(header_);
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
    place_.assign(fabric_.ranks.size(), {});
    for (std::uint32_t d = 0; d < exporters_.size(); ++d)
      for (std::uint32_t rail = 0; rail < exporters_[d].ranks.size(); ++rail)
        place_[static_cast<std::size_t>(exporters_[d].ranks[rail])] = {rail, d};
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

  // Parts are ordered by rail, then by domain, so that what a line has collected is one range.
  std::int64_t export_place(Rank rank) const {
    const Place& place = place_[static_cast<std::size_t>(rank)];
    return std::int64_t{place.rail} << 32 | place.domain;
  }

  void emit_bucket(const Bucket& bucket) {
    emitter_.begin_bucket(bucket);
    const auto cost = [&](std::int64_t per_tensor) { return per_tensor * bucket.tensors; };
    for (const BucketPart& part : bucket.parts)
      emitter_.pack(part, 0, cost(constants_.export_per_tensor_ps));
    gather(bucket);
    broadcast(bucket);
    const auto run =
        static_cast<std::uint32_t>(std::min<std::int64_t>(bucket.load_run, UINT32_MAX));
    for (Rank rank : job_.problem.destination_ranks)
      emitter_.load(rank, run, cost(constants_.load_per_tensor_ps));
    ++number_;
  }

  CollectivePhase phase(OpRole role, std::int32_t later) const {
    const bool grouped = header_.discipline == Discipline::kGroups;
    return {2 * number_ + later, grouped ? number_ + later : kNone, role, later > 0};
  }

  // Along every rail between domains, both ways; then along a line inside each domain.
  void gather(const Bucket& bucket) {
    const CollectivePhase export_phase = phase(OpRole::kExport, 0);
    using Ranges = std::vector<ByteRange>;
    std::vector<std::vector<Ranges>> held(rails_, std::vector<Ranges>(exporters_.size()));
    std::vector<Ranges> of_rail(rails_);
    for (const BucketPart& part : bucket.parts) {
      const Place& place = place_[static_cast<std::size_t>(part.owner)];
      held[place.rail][place.domain].push_back(part.range);
      of_rail[place.rail].push_back(part.range);
    }
    for (std::size_t rail = 0; rail < rails_; ++rail) {
      std::vector<Rank> line;
      for (const Site& site : exporters_) line.push_back(site.on_rail(rail));
      emitter_.line_all_gather(export_phase, line, held[rail]);
    }
    for (const Site& site : exporters_) {
      std::vector<Ranges> local(site.ranks.size());
      for (std::size_t rail = 0; rail < rails_; ++rail) {
        Ranges& ranges = local[rail % site.ranks.size()];
        ranges.insert(ranges.end(), of_rail[rail].begin(), of_rail[rail].end());
      }
      emitter_.line_all_gather(export_phase, site.ranks, local);
    }
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
    const Site* from = &exporters_.front();
    for (const Site& site : receivers_) {
      std::vector<std::vector<ByteRange>> held(site.ranks.size());
      for (std::size_t rail = 0; rail < rails; ++rail) {
        emitter_.hop(broadcast_phase, from->on_rail(rail), site.on_rail(rail), {parts[rail]}, rail);
        held[rail % site.ranks.size()].push_back(parts[rail]);
      }
      emitter_.line_all_gather(broadcast_phase, site.ranks, held);
      from = &site;
    }
  }

  struct Place {
    std::uint32_t rail = 0;
    std::uint32_t domain = 0;  // index into exporters_
  };

  const Job& job_;
  const GatherConstants& constants_;
  PlanHeader header_;
  PlanBuilder builder_;
  Fabric fabric_;
  std::vector<Site> exporters_;
  std::vector<Site> receivers_;  // of the broadcast, in the order of its chain
  std::vector<Place> place_;     // by rank; exporters only
  CollectiveEmitter emitter_;
  std::int64_t bucket_bytes_ = 0;
  std::size_t rails_ = 1;
  std::int32_t number_ = 0;
};

}  // namespace

Plan plan_gather_broadcast(const Job& job, const PlanningInput&, const StrategyChoice& strategy,
                           PlanHeader header) {
  const GatherConstants constants = load_gather_constants();
  return GatherBroadcast(job, constants, strategy, std::move(header)).make();
}

}  // namespace transload
