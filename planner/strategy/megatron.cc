#include "planner/strategy/megatron.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "common/check.h"
#include "planner/strategy/constants.h"
#include "planner/strategy/parameters.h"
#include "planner/strategy/partition.h"
#include "planner/strategy/route_list.h"

namespace transload {
namespace {

// A rank that holds some part of a tensor.
struct Candidate {
  Rank rank = 0;
  std::int64_t data_parallel = 0;  // group, numbered in the order of the groups' first ranks
  std::size_t replica = 0;         // its place among the holders of its part
};

// The candidates of every parameter, ascending by rank: the order in which Megatron gathers them.
class Candidates {
 public:
  explicit Candidates(const Job& job)
      : job_(job), parameter_(parameter_of_group(job.problem, true)) {
    for (const RankGroups& entry : job.source_groups) dp_group_[entry.rank] = entry.data_parallel;
    std::vector<std::map<Rank, Candidate>> by_rank(job.problem.groups.size());
    for (std::size_t g = 0; g < parameter_.size(); ++g)
      add(job.problem.layouts[job.problem.groups[g].source], by_rank[parameter_[g]]);
    for (const auto& ranks : by_rank)
      for (auto& list = of_parameter_.emplace_back(); const auto& [rank, candidate] : ranks)
        list.push_back(candidate);
  }

  const std::vector<Candidate>& of(std::uint32_t group) const {
    return of_parameter_[parameter_[group]];
  }

 private:
  void add(const Layout& layout, std::map<Rank, Candidate>& by_rank) const {
    for (const std::uint32_t cell : layout.cells) {
      const std::span<const Rank> holders = job_.problem.sets.of(cell);
      for (std::size_t i = 0; i < holders.size(); ++i)
        by_rank.try_emplace(holders[i], Candidate{holders[i], group_of(holders, i), i});
    }
  }

  // A job without an engine has no groups: ranks that hold the same part are one.
  std::int64_t group_of(std::span<const Rank> holders, std::size_t i) const {
    const auto known = dp_group_.find(holders[i]);
    return known != dp_group_.end() ? known->second : holders.front();
  }

  const Job& job_;
  std::vector<std::uint32_t> parameter_;  // by tensor group
  std::map<Rank, std::int64_t> dp_group_;
  std::vector<std::vector<Candidate>> of_parameter_;
};

// The source rank that Megatron picks for all of a tensor that `receiver` wants.
const Candidate& picked(const std::vector<Candidate>& candidates, Rank receiver) {
  for (const Candidate& candidate : candidates)
    if (candidate.rank == receiver) return candidate;
  std::map<std::int64_t, std::vector<const Candidate*>> groups;
  for (const Candidate& candidate : candidates)
    groups[candidate.data_parallel].push_back(&candidate);
  if (groups.size() == 1) return candidates.front();
  const std::size_t number = static_cast<std::size_t>(receiver);
  const auto& chosen =
      std::next(groups.begin(), static_cast<std::ptrdiff_t>(number % groups.size()))->second;
  return *chosen[number / groups.size() % chosen.size()];
}

// What Megatron calls a parameter has at most one dimension cut over tensor-parallel ranks, the
// same on both sides. A fused one is cut as a whole, so the lengths of its parts say nothing.
void refuse_cuts(const TensorGroup& group, const std::string& name, const ReshardProblem& problem,
                 bool fused, RefusalList& list) {
  const std::vector<CutDimension> from = cut_dimensions(problem.layouts[group.source]);
  const std::vector<CutDimension> to = cut_dimensions(problem.layouts[group.destination]);
  for (const auto& [cuts, side] : {std::pair(&from, "source"), std::pair(&to, "destination")})
    if (cuts->size() > 1)
      list.add("one sharded dimension per side", fmt::format("{} on the {}", cuts->size(), side),
               name);
  if (from.size() > 1 || to.size() > 1 || (from.empty() && to.empty())) return;
  if (!from.empty() && !to.empty() && from[0].dim != to[0].dim)
    list.add("the same sharded dimension on both sides",
             fmt::format("{} and {}", from[0].dim, to[0].dim), name);
  if (fused) return;
  if ((!from.empty() && !from[0].even) || (!to.empty() && !to[0].even)) return;
  const std::size_t dim = to.empty() ? from[0].dim : to[0].dim;
  const std::int64_t source = padded_length(group, problem.layouts[group.source], dim);
  const std::int64_t destination = padded_length(group, problem.layouts[group.destination], dim);
  if (source != destination)
    list.add("the same padded length on both sides", fmt::format("{} and {}", source, destination),
             name);
}

// Every rank that holds some of a parameter holds as much of it as any other, padding aside.
void refuse_uneven_side(const ReshardProblem& problem, bool source,
                        const std::vector<std::uint32_t>& parameter, const std::vector<bool>& fused,
                        RefusalList& list) {
  const auto bytes = parameter_bytes(problem, source, parameter);
  const char* side = source ? "source" : "destination";
  for (std::size_t g = 0; g < parameter.size(); ++g) {
    const TensorGroup& group = problem.groups[g];
    const std::string& name = problem.names[group.first];
    if (!fused[g]) {
      for (const CutDimension& cut :
           cut_dimensions(problem.layouts[source ? group.source : group.destination]))
        if (!cut.even)
          list.add("shards of equal size",
                   fmt::format("{} unequal parts of {} on the {}", cut.parts, group.shape[cut.dim],
                               side),
                   name);
      continue;
    }
    std::int64_t least = INT64_MAX;
    std::int64_t most = 0;
    for (const auto& [rank, held] : bytes[parameter[g]]) {
      least = std::min(least, held);
      most = std::max(most, held);
    }
    if (least < most)
      list.add("shards of equal size", fmt::format("{} and {} bytes on the {}", least, most, side),
               name);
  }
}

void refuse_holders(const ReshardProblem& problem, const Layout& source, const std::string& name,
                    RefusalList& list) {
  std::size_t least = SIZE_MAX;
  std::size_t most = 0;
  for (const std::uint32_t cell : source.cells) {
    least = std::min(least, problem.sets.of(cell).size());
    most = std::max(most, problem.sets.of(cell).size());
  }
  if (!source.cells.empty() && least != most)
    list.add("every part of a tensor on equally many source ranks",
             fmt::format("on {} and on {}", least, most), name);
}

}  // namespace

std::vector<Unsupported> refuse_megatron(const Job& job, const PlanningInput&,
                                         const StrategyChoice&) {
  RefusalList list;
  const ReshardProblem& problem = job.problem;
  const std::vector<std::uint32_t> from = parameter_of_group(problem, true);
  const std::vector<std::uint32_t> to = parameter_of_group(problem, false);
  const auto parts_of = [](const std::vector<std::uint32_t>& parameters, std::size_t group) {
    return std::count(parameters.begin(), parameters.end(), parameters[group]);
  };
  std::vector<bool> fused;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const TensorGroup& group = problem.groups[g];
    const std::string& name = problem.names[group.first];
    fused.push_back(parts_of(from, g) > 1 || parts_of(to, g) > 1);
    refuse_cuts(group, name, problem, fused.back(), list);
    refuse_holders(problem, problem.layouts[group.source], name, list);
  }
  refuse_uneven_side(problem, true, from, fused, list);
  refuse_uneven_side(problem, false, to, fused, list);
  return list.take();
}

RouteSet assign_megatron(const Job& job, const PlanningInput& input, const StrategyChoice&,
                         const Fabric& fabric) {
  RouteList list(fabric);
  const Candidates candidates(job);
  const RankSets& sets = job.problem.sets;
  for (std::uint32_t c = 0; c < input.demand.classes.size(); ++c) {
    const DemandClass& demand_class = input.demand.classes[c];
    const std::span<const Rank> holders = sets.of(demand_class.holders);
    for (const Rank receiver : sets.of(demand_class.receivers)) {
      if (std::binary_search(holders.begin(), holders.end(), receiver)) {
        list.add_local(c, receiver);
        continue;
      }
      std::int64_t begin = 0;
      for (const DemandSlice& slice : demand_class.slices) {
        const std::int64_t end = begin + slice_bytes(job.problem, slice);
        // The holder of this part in the tensor-parallel group of the rank that was picked.
        const std::size_t replica = picked(candidates.of(slice.group), receiver).replica;
        TRANSLOAD_CHECK(replica < holders.size(), "every part is held equally often");
        list.add(c, begin, end, holders[replica], receiver);
        begin = end;
      }
    }
  }
  return list.take();
}

Plan plan_megatron(const Job& job, const PlanningInput& input, const StrategyChoice& strategy,
                   PlanHeader header) {
  ConstantFile file("megatron");
  const auto window = static_cast<std::uint32_t>(file.read("in_flight").integer_in(1, 4096));
  header.assumptions = file.finish();
  return plan_routes(job, input, strategy, std::move(header), assign_megatron, window);
}

}  // namespace transload
