#include "planner/strategy/portfolio.h"

#include <algorithm>
#include <optional>

#include "common/error.h"
#include "planner/schedule/access.h"
#include "planner/schedule/fluid_time.h"
#include "planner/strategy/alpa.h"
#include "planner/strategy/chains.h"
#include "planner/strategy/gather_broadcast.h"
#include "planner/strategy/helper_ranks.h"
#include "planner/strategy/transload/assign.h"
#include "planner/strategy/transload/peers.h"
#include "planner/strategy/transload/rails.h"

namespace transload {
namespace {

// A first plan with more operations is kept as it is: others would take longer than they gain.
constexpr std::uint64_t kMostOperations = 60'000;
// Plans of so few ranks may have more: only long jobs do.
constexpr std::size_t kFewRanks = 64;
constexpr std::uint64_t kMostOperationsOfFew = 400'000;
// A plan this close to the bound, one part in so many, is kept: nothing is much shorter.
constexpr std::int64_t kCloseToBound = 500;
// Chains this close to it are not compared with relays, which are not so close where chains are.
constexpr std::int64_t kCloserThanRelays = 100;
// Another plan must be shorter by one part in so many: the clock is not exact.
constexpr std::int64_t kWorthwhile = 1000;
// Chains may load a port by one part in so many more than relays: relays have gaps of 1 to 10 %
// under windows, of 5 to 30 % in groups, chains hardly any.
constexpr std::int64_t kChainsMayExceed = 12;
// Rules that make many operations are tried only where the plan at hand exceeds the bound by more.
constexpr std::int64_t kFarFromBound = 50;
// Granularity at which receivers that are served directly spread their load over several holders.
constexpr std::int64_t kSpreadBytes = std::int64_t{32} << 20;
// In flight per port where nothing is handed on: what the system that serves receivers directly
// posts (planner/strategy/p2p.yaml).
constexpr std::uint32_t kDirectWindow = 16;

constexpr std::string_view kPlain = "";
constexpr std::string_view kChains = "chains of domains that forward while chunks land";
constexpr std::string_view kRelays = "relays that forward landed chunks";
constexpr std::string_view kStreamedRelays = "relays that forward while chunks land";
constexpr std::string_view kEvenly = "every route advances evenly";
constexpr std::string_view kShortCourses = "no courses over hubs";
constexpr std::string_view kUnrelayed = "no relays";
constexpr std::string_view kByReceiver = "every receiver straight from the least loaded holder";
constexpr std::string_view kTiles = "each tile handed on from host to host";
constexpr std::string_view kBroadcast = "packed buckets broadcast from domain to domain";

// One way to serve a job, before it is a plan.
struct Candidate {
  std::string_view note;
  RouteSet routes;
  bool streams = false;
  std::uint32_t window = 0;  // 0: the job's, or left to the planner
  bool evenly = false;
};

class Portfolio {
 public:
  Portfolio(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
            const PlanHeader& header)
      : job_(job),
        input_(input),
        strategy_(strategy),
        header_(header),
        helpers_(helper_ranks(job)),
        fabric_(add_fabric(builder_, job.topology, job.problem, helpers_)) {}

  Plan best() {
    RouteSet balanced = balanced_routes(relay_use());
    const bool relayed = forwards_over_network(balanced, fabric_);
    // Limits on peers rebuild routes around few pairs of ranks: they leave nothing to choose.
    if (!relayed || header_.discipline == Discipline::kUnbounded || job_.options.max_peers) {
      best_ = plan_balanced(kPlain, balanced);
      if (!can_try_others()) return *std::move(best_);
      try_evenly(balanced);
      try_unrelated();
      return *std::move(best_);
    }
    plan_relayed(std::move(balanced));
    return *std::move(best_);
  }

 private:
  void plan_relayed(RouteSet balanced) {
    const Candidate chains{kChains, chain_routes(), true};
    const std::int64_t load_ps = most_loaded_ps(balanced, fabric_);
    if (!chains.routes.routes.empty() &&
        most_loaded_ps(chains.routes, fabric_) <= load_ps + load_ps / kChainsMayExceed)
      best_ = plan_if_it_fits(chains);
    const bool chained = best_.has_value();
    if (!chained) best_ = plan_balanced(kRelays, balanced);
    if (!can_try_others()) {
      // Loads of narrow links are not compared, and chains pass them more often.
      if (chained && !best_->path_link.empty()) best_ = plan_of({kRelays, std::move(balanced)});
      return;
    }
    if (!chained && !chains.routes.routes.empty()) try_routes(chains);
    if (!within(kCloserThanRelays)) {
      if (chained) try_routes({kRelays, balanced});
      try_evenly(balanced);
      if (header_.discipline == Discipline::kWindows)
        try_routes({kStreamedRelays, std::move(balanced), true});
      try_routes({kUnrelayed, balanced_routes(0)});
    }
    try_unrelated();
  }

  // Longer courses (transload/relieve.h) may find no room for their staging.
  Plan plan_balanced(std::string_view note, const RouteSet& balanced) const {
    std::optional<Plan> plan = plan_if_it_fits({note, balanced});
    return plan ? *std::move(plan) : plan_of({note, balanced_routes(relay_use(), false)});
  }

  std::int64_t relay_use() const {
    return header_.discipline == Discipline::kGroups ? kRelayUseInGroups : kRelayUse;
  }

  // Nothing where its staging finds no room.
  std::optional<Plan> plan_if_it_fits(const Candidate& candidate) const {
    try {
      return plan_of(candidate);
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  TransloadOptions options(std::int64_t relay_use) const {
    const bool any_course = !job_.options.max_peers && is_one_wide_switch(job_.topology, fabric_);
    return {may_help(job_), input_.wire_bound_ps, relay_use, any_course};
  }

  // The network's and the job's own limits, which the assignment does not know.
  RouteSet within_limits(RouteSet routes, const TransloadOptions& options) const {
    routes = fit_to_network(std::move(routes), job_.problem, input_.demand, job_.topology, fabric_,
                            options);
    if (!job_.options.max_peers) return routes;
    return limit_peers(std::move(routes), job_.problem, input_.demand, job_.topology, fabric_,
                       options, *job_.options.max_peers);
  }

  RouteSet balanced_routes(std::int64_t relay_use, bool any_course = true) const {
    TransloadOptions options = this->options(relay_use);
    options.any_course = options.any_course && any_course;
    return within_limits(assign_balanced(job_.problem, input_.demand, fabric_, options), options);
  }

  // Empty where some domain of a chain has no way to the next.
  RouteSet chain_routes() const {
    const TransloadOptions options = this->options(0);
    try {
      return within_limits(assign_chains(job_.problem, input_.demand, fabric_, options), options);
    } catch (const InputError&) {
      return {};
    }
  }

  RouteSet receiver_routes() const {
    return within_limits(assign_p2p(job_.problem, input_.demand, fabric_, kSpreadBytes),
                         options(0));
  }

  PlanHeader noted(std::string_view note) const {
    PlanHeader header = header_;
    if (!note.empty()) header.strategy_notes += "; " + std::string(note);
    return header;
  }

  Plan plan_of(const Candidate& candidate) const {
    EmitOptions options = emit_options(job_, header_.discipline, candidate.window);
    options.stream_forwards = candidate.streams;
    options.even_order = candidate.evenly;
    PlanBuilder builder;
    const Fabric fabric = add_fabric(builder, job_.topology, job_.problem, helpers_);
    return seal_routes(builder, job_, input_, fabric, candidate.routes, options,
                       noted(candidate.note));
  }

  // Whether the plan at hand is small enough to try others; takes its time.
  bool can_try_others() {
    const std::size_t ranks =
        job_.problem.source_ranks.size() + job_.problem.destination_ranks.size();
    if (header_.discipline == Discipline::kUnbounded || job_.options.max_peers ||
        best_->operations() > (ranks <= 2 * kFewRanks ? kMostOperationsOfFew : kMostOperations))
      return false;
    best_ps_ = fluid_time_ps(*best_);
    return true;
  }

  // Whether the plan at hand exceeds the bound by less than one part in so many.
  bool within(std::int64_t parts) const {
    return best_ps_ <= input_.wire_bound_ps + input_.wire_bound_ps / parts;
  }
  bool good_enough() const { return within(kCloseToBound); }

  // What another plan must be shorter than.
  std::int64_t limit_ps() const { return best_ps_ - best_ps_ / kWorthwhile; }

  void try_routes(const Candidate& candidate) {
    if (good_enough() || most_loaded_ps(candidate.routes, fabric_) >= limit_ps()) return;
    try_plan([&] { return plan_of(candidate); });
  }

  // A long course costs a group or more for every hop.
  void try_short_courses() {
    if (header_.discipline == Discipline::kGroups && !within(kCloserThanRelays))
      try_routes({kShortCourses, balanced_routes(relay_use(), false)});
  }

  void try_evenly(const RouteSet& balanced) {
    if (header_.discipline == Discipline::kWindows) try_routes({kEvenly, balanced, false, 0, true});
  }

  // Rules that have nothing to do with who needs relays.
  void try_unrelated() {
    try_short_courses();
    if (good_enough()) return;
    const std::uint32_t window = job_.options.window ? 0 : kDirectWindow;
    try {
      try_routes({kByReceiver, receiver_routes(), false, window});
    } catch (const InputError&) {
      // Some holder has no way to some receiver.
    }
    // Far from the bound: the rule of Alpa spreads what NVLink ports of one domain must send.
    const bool even =
        job_.problem.conversions.empty() && refuse_alpa(job_, input_, strategy_).empty();
    if (!within(kFarFromBound) && even) {
      try {
        try_routes({kTiles, assign_alpa(job_, input_, strategy_, fabric_)});
      } catch (const InputError&) {
        // Some holder has no way to some receiver.
      }
    }
    // Buckets know neither conversions nor the job's size of chunks.
    const bool restricted = !job_.problem.conversions.empty() || job_.options.chunk_bytes;
    if (!good_enough() && !restricted)
      try_plan([&] { return plan_gather_broadcast(job_, input_, strategy_, noted(kBroadcast)); });
  }

  template <class MakePlan>
  void try_plan(MakePlan&& make_plan) {
    try {
      Plan plan = make_plan();
      const EmitOptions options = emit_options(job_, header_.discipline, 0);
      if (plan_totals(plan).staging_bytes > static_cast<std::uint64_t>(options.staging_bytes))
        return;
      const std::int64_t ps = fluid_time_ps(plan, limit_ps());
      if (ps >= limit_ps()) return;
      best_ps_ = ps;
      best_ = std::move(plan);
    } catch (const InputError&) {
      // No room for its staging: the plan at hand stays.
    }
  }

  const Job& job_;
  const PlanningInput& input_;
  const StrategyChoice& strategy_;
  const PlanHeader& header_;
  std::vector<Rank> helpers_;
  PlanBuilder builder_;  // only to number the ports of `fabric_`, the same in every builder
  Fabric fabric_;
  std::optional<Plan> best_;
  std::int64_t best_ps_ = 0;
};

}  // namespace

Plan plan_transload(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                    PlanHeader header) {
  return Portfolio(job, input, strategy, header).best();
}

}  // namespace transload
