#include "planner/strategy/p2p.h"

#include <algorithm>
#include <map>
#include <set>

#include "planner/strategy/collective_hops.h"
#include "planner/strategy/constants.h"
#include "planner/strategy/p2p_conversions.h"
#include "planner/strategy/p2p_tasks.h"
#include "planner/strategy/rail_gather.h"
#include "planner/strategy/shard_rows.h"

namespace transload {
namespace {

// Granularity at which load is balanced over several holders in direct mode.
constexpr std::int64_t kPieceBytes = std::int64_t{32} << 20;

struct P2pConstants {
  std::uint32_t window = 1;
  std::int64_t task_bytes = 0;
  std::uint32_t tasks_in_flight = 1;
  std::int64_t task_limit = 1;
  std::vector<std::string> assumptions;
};

P2pConstants load_constants() {
  ConstantFile file("p2p");
  P2pConstants constants;
  constants.window = static_cast<std::uint32_t>(file.read("in_flight").integer_in(1, 4096));
  constants.task_bytes = file.read("task_bytes").bytes();
  constants.tasks_in_flight =
      static_cast<std::uint32_t>(file.read("tasks_in_flight").integer_in(2, 64));
  constants.task_limit = file.read("task_limit").integer_in(1, 1 << 20);
  constants.assumptions = file.finish();
  return constants;
}

RouteSet direct_routes(const Job& job, const PlanningInput& input, const StrategyChoice&,
                       const Fabric& fabric) {
  return assign_p2p(job.problem, input.demand, fabric, kPieceBytes);
}

// Gathers and writes the tasks of all meshes.
class FullTensor {
 public:
  FullTensor(PlanBuilder& builder, const Fabric& fabric, const ReshardProblem& problem,
             bool grouped, std::uint32_t tasks_in_flight)
      : builder_(builder),
        fabric_(fabric),
        problem_(problem),
        grouped_(grouped),
        stages_(problem.conversions.empty() ? 1 : 2),
        bucket_slots_(stages_ * tasks_in_flight),
        emitter_(builder, fabric, bucket_slots_) {}

  void emit(const std::vector<Mesh>& meshes) {
    for (const std::vector<std::size_t>& group : mesh_groups(meshes)) emit_group(meshes, group);
    for (const Rank rank : gatherers_)
      builder_.set_staging(rank, SlotClass::kBucket, bucket_slots_,
                           static_cast<std::uint64_t>(emitter_.largest_bucket()));
  }

 private:
  // Task by task, the meshes of the group side by side.
  void emit_group(const std::vector<Mesh>& meshes, const std::vector<std::size_t>& group) {
    std::vector<OpId> gathers;
    const std::uint64_t first = number_;
    for (std::size_t i = 0;; ++i) {
      bool any = false;
      const std::int32_t issue = group_++;
      for (const std::size_t m : group) {
        if (i >= meshes[m].tasks.size()) continue;
        any = true;
        const GatherTask& task = meshes[m].tasks[i];
        const std::uint64_t bucket = first + stages_ * i + 1;
        number_ = std::max(number_, bucket + stages_ - 1);
        emitter_.select_bucket(task.bucket, bucket, kNone);
        emitter_.set_gate(barrier_);
        gather(task, issue);
        const std::vector<OpId> made = emitter_.take_made();
        gathers.insert(gathers.end(), made.begin(), made.end());
        if (task.made.bundle != kNone) emitter_.select_bucket(task.made, bucket + 1, kNone);
        write(task, bucket);
        emitter_.take_made();
      }
      if (!any) break;
    }
    if (!gathers.empty()) barrier_ = {emitter_.fence(meshes[group.front()].ranks.front(), gathers)};
  }

  // Every set of ranks that together hold the task once gathers it among themselves.
  void gather(const GatherTask& task, std::int32_t issue) {
    std::size_t replicas = SIZE_MAX;
    for (const TaskPiece& piece : task.pieces)
      replicas = std::min(replicas, problem_.sets.of(piece.holders).size());
    candidates_.clear();
    for (std::size_t k = 0; k < replicas; ++k) {
      std::map<Rank, std::vector<ByteRange>> held;
      for (const TaskPiece& piece : task.pieces)
        held[problem_.sets.of(piece.holders)[k]].push_back(piece.range);
      // Ranks that hold more than a replica's share have gathered the task already.
      if (std::any_of(held.begin(), held.end(),
                      [&](const auto& entry) { return candidates_.contains(entry.first); }))
        continue;
      std::vector<Rank> ranks;
      std::vector<BucketPart> parts;
      for (auto& [rank, mine] : held) {
        ranks.push_back(rank);
        for (const ByteRange& range : merge_ranges(mine)) parts.push_back({rank, range});
      }
      for (const BucketPart& part : parts) emitter_.pack(part, 0, 0);
      const std::vector<BroadcastSite> sites = sites_of(ranks, fabric_);
      gather_over_rails(emitter_,
                        {collective_++, grouped_ ? 2 * issue : kNone, OpRole::kExport, false},
                        sites, RailPlaces(sites, fabric_.ranks.size()), parts);
      candidates_.insert(ranks.begin(), ranks.end());
    }
    gatherers_.insert(candidates_.begin(), candidates_.end());
  }

  // To every receiver from the gathered copy of the rank with the fewest bytes; a rank quantises
  // its copy when the first receiver asks for it.
  void write(const GatherTask& task, std::uint64_t gathered) {
    const bool converts = task.made.bundle != kNone;
    std::set<Rank> converted;
    const auto convert = [&](Rank rank) {
      if (converts && converted.insert(rank).second) emitter_.convert(rank, task.bucket, gathered);
    };
    const CollectivePhase phase{kNone, grouped_ ? 2 * (group_ - 1) + 1 : kNone, OpRole::kInject,
                                false};
    const ByteRange all{0, converts ? task.made.bytes : task.bucket.bytes};
    for (const Rank receiver : problem_.sets.of(task.receivers)) {
      if (candidates_.contains(receiver)) {
        convert(receiver);
        emitter_.load_range(receiver, all);
        continue;
      }
      const Rank source = least_assigned();
      assigned_[source] += all.end;
      convert(source);
      emitter_.deliver(phase, source, receiver, all);
    }
  }

  Rank least_assigned() {
    return *std::min_element(candidates_.begin(), candidates_.end(),
                             [&](Rank a, Rank b) { return assigned_[a] < assigned_[b]; });
  }

  PlanBuilder& builder_;
  const Fabric& fabric_;
  const ReshardProblem& problem_;
  bool grouped_ = false;
  std::uint32_t stages_;  // buckets of a task: gathered, and quantised where some tasks are
  std::uint32_t bucket_slots_;
  CollectiveEmitter emitter_;
  std::set<Rank> candidates_;  // that have the task at hand
  std::set<Rank> gatherers_;
  std::map<Rank, std::int64_t> assigned_;
  std::vector<OpId> barrier_;
  std::uint64_t number_ = 0;
  std::int32_t group_ = 0;
  std::int32_t collective_ = 0;
};

Plan plan_full_tensor(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                      PlanHeader header, const P2pConstants& constants) {
  PlanBuilder builder;
  const bool converts = !job.problem.conversions.empty();
  const ReshardProblem at_source = converts ? made_at_source(job.problem) : ReshardProblem();
  const ReshardProblem& problem = converts ? at_source : job.problem;
  const Fabric fabric = add_fabric(builder, job.topology, problem);
  add_tensors_and_shards(builder, problem);
  const std::int64_t task_bytes = strategy.bucket_bytes.value_or(constants.task_bytes);
  const std::vector<Mesh> meshes =
      make_meshes(builder, problem, input.demand, fabric, task_bytes, constants.task_limit);
  FullTensor(builder, fabric, problem, header.discipline == Discipline::kGroups,
             constants.tasks_in_flight)
      .emit(meshes);
  set_windows(builder, fabric, constants.window);
  header.window = constants.window;
  header.colours_per_group = 1;
  header.operations_per_group = 0;
  header.chunk_bytes = static_cast<std::uint64_t>(task_bytes);
  header.piece_bytes = std::uint64_t{1} << 20;
  if (converts) header.strategy_notes += "; quantised out of the gathered copies, before the wire";
  return builder.seal(header);
}

}  // namespace

Plan plan_p2p(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
              PlanHeader header) {
  const P2pConstants constants = load_constants();
  header.assumptions = constants.assumptions;
  if (strategy.mode == "full-tensor")
    return plan_full_tensor(job, input, strategy, std::move(header), constants);
  header.assumptions.resize(1);  // the others are of full-tensor mode
  return plan_routes(job, input, strategy, std::move(header), direct_routes, constants.window);
}

}  // namespace transload
