#include "planner/job/membership.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/demand/demand.h"
#include "topologies/without_nic.h"

namespace transload {
namespace {

std::string missing_text(const std::vector<MissingTensor>& missing) {
  const MissingTensor& first = missing.front();
  constexpr std::size_t kShown = 8;
  const auto shown = static_cast<std::ptrdiff_t>(std::min(first.lost.size(), kShown));
  const std::string others =
      missing.size() == 1
          ? ""
          : fmt::format("; so are {} more tensors (--json lists them)", missing.size() - 1);
  return fmt::format(
      "tensor {}: lost rank{} {}{} held box {}, which rank {} wants, and no living source does; "
      "the "
      "nearest older copy is on destination rank {}{}; --allow-missing (without.allow_missing: "
      "true "
      "in a job) leaves such tensors out",
      first.name, first.lost.size() == 1 ? "" : "s",
      fmt::join(first.lost.begin(), first.lost.begin() + shown, ", "),
      first.lost.size() > kShown ? ", ..." : "", first.box, first.wanted_by, first.nearest_replica,
      others);
}

// Destinations hold what they were last sent: the one that is nearest to a lost source.
Rank nearest_to(Rank lost, std::span<const Rank> ranks, const Topology& topology) {
  const auto gpu = [&](Rank rank) -> const Gpu& {
    return topology.gpus[static_cast<std::size_t>(rank)];
  };
  return *std::min_element(ranks.begin(), ranks.end(), [&](Rank a, Rank b) {
    const auto distance = [&](Rank rank) {
      return std::tuple(gpu(rank).domain != gpu(lost).domain, gpu(rank).node != gpu(lost).node,
                        rank);
    };
    return distance(a) < distance(b);
  });
}

std::vector<Rank> lost_holders(const Layout& whole, const Box& box, const std::vector<Rank>& lost) {
  std::vector<Rank> holders;
  for (const RankBox& shard : whole.shards)
    if (contains(shard.box, box) && std::binary_search(lost.begin(), lost.end(), shard.rank))
      holders.push_back(shard.rank);
  return holders;
}

// The first box of a group that a living destination wants and only lost ranks held. Nothing where
// no rank ever held it: that is another error, which make_demand words.
std::optional<MissingTensor> missing_box(const ReshardProblem& problem, const ReshardProblem& whole,
                                         std::size_t group, const std::vector<Rank>& lost,
                                         const Topology& topology) {
  std::optional<MissingTensor> found;
  const TensorGroup& at = problem.groups[group];
  for_each_common_cell(problem.layouts[at.source], problem.layouts[at.destination],
                       [&](const Box& box, std::uint32_t holders, std::uint32_t receivers) {
                         if (found || receivers == 0 || holders != 0) return;
                         // A cell of the thinner grid may hold cells of the whole one that others
                         // held: the first corner stands for it.
                         Box corner = box;
                         for (std::size_t d = 0; d < box.dims(); ++d)
                           corner.bounds[2 * d + 1] = box.lo(d) + 1;
                         std::vector<Rank> held =
                             lost_holders(whole.layouts[whole.groups[group].source], corner, lost);
                         if (held.empty()) return;
                         const std::span<const Rank> wanting = problem.sets.of(receivers);
                         found = MissingTensor{"", to_string(box), held, wanting.front(),
                                               nearest_to(held.front(), wanting, topology)};
                       });
  return found;
}

std::vector<MissingTensor> missing_tensors(const ReshardProblem& problem,
                                           const ReshardProblem& whole,
                                           const std::vector<Rank>& lost,
                                           const Topology& topology) {
  // The job knows what is converted by the name of the values.
  std::vector<std::uint32_t> known_as(problem.names.size());
  std::iota(known_as.begin(), known_as.end(), 0u);
  for (const TensorGroup& group : problem.groups)
    if (group.making != Making::kNotMade && !recipe_info(group.recipe).scale)
      for (std::uint32_t tensor = group.first; tensor < group.first + group.count; ++tensor)
        known_as[problem.made_from[tensor]] = tensor;
  std::vector<std::pair<std::uint32_t, MissingTensor>> by_position;
  for (std::size_t g = 0; g < problem.groups.size(); ++g) {
    const auto missing = missing_box(problem, whole, g, lost, topology);
    const TensorGroup& group = problem.groups[g];
    if (!missing || recipe_info(group.recipe).scale) continue;
    for (std::uint32_t tensor = group.first; tensor < group.first + group.count; ++tensor) {
      MissingTensor entry = *missing;
      entry.name = problem.names[known_as[tensor]];
      by_position.emplace_back(problem.input_position[tensor], std::move(entry));
    }
  }
  std::sort(by_position.begin(), by_position.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<MissingTensor> missing;
  for (auto& [position, entry] : by_position) missing.push_back(std::move(entry));
  return missing;
}

template <class Entry>
void keep_only(std::vector<Entry>& column, const std::vector<std::uint32_t>& kept) {
  if (column.empty()) return;
  std::vector<Entry> rows;
  rows.reserve(kept.size());
  for (std::uint32_t row : kept) rows.push_back(std::move(column[row]));
  column = std::move(rows);
}

// The input without the tensors at these positions. A name that was tied to one of them stands for
// itself.
void leave_out(ProblemInput& input, const std::vector<std::string>& ascending_names) {
  std::vector<std::uint32_t> kept;
  std::vector<std::uint32_t> place(input.tensors.size(), TensorInput::kNotTied);
  for (std::uint32_t i = 0; i < input.tensors.size(); ++i) {
    if (std::binary_search(ascending_names.begin(), ascending_names.end(), input.tensors[i].name))
      continue;
    place[i] = static_cast<std::uint32_t>(kept.size());
    kept.push_back(i);
  }
  keep_only(input.tensors, kept);
  keep_only(input.source_buffer_of, kept);
  for (std::vector<BufferRef>& pool : input.destination_buffer_of) keep_only(pool, kept);
  // Of several names that were tied to one that is gone, the first stands for the others.
  std::map<std::uint32_t, std::uint32_t> heir;
  for (std::uint32_t i = 0; i < input.tensors.size(); ++i) {
    std::uint32_t& tied = input.tensors[i].tied_to;
    if (tied == TensorInput::kNotTied) continue;
    if (place[tied] != TensorInput::kNotTied) {
      tied = place[tied];
      continue;
    }
    const auto [first, is_new] = heir.try_emplace(tied, i);
    tied = is_new ? TensorInput::kNotTied : first->second;
  }
  // What the tensors that are left out took of shared buffers is not uncovered by mistake.
  input.validate_memory = false;
}

}  // namespace

MissingHolders::MissingHolders(std::vector<MissingTensor> missing)
    : InputError(missing_text(missing)), missing_(std::move(missing)) {}

Membership parse_membership(const YamlValue& value, Topology& topology) {
  Membership membership;
  YamlMap map = value.map();
  if (const auto ranks = map.optional("ranks")) {
    membership.ranks = ranks->index_list(static_cast<std::int64_t>(topology.gpus.size()) - 1);
    std::sort(membership.ranks.begin(), membership.ranks.end());
  }
  if (const auto nics = map.optional("nics")) {
    std::vector<std::int32_t> down;
    for (const YamlValue& item : nics->list()) {
      membership.nics.push_back(item.text());
      try {
        down.push_back(find_nic(topology, membership.nics.back()));
      } catch (const InputError& error) {
        item.fail(error.what());
      }
    }
    remove_nics(topology, down);
  }
  if (const auto allow = map.optional("allow_missing")) membership.allow_missing = allow->boolean();
  map.finish();
  return membership;
}

std::vector<Rank> dropped_destinations(const SidePlacement& side, const std::vector<Rank>& lost) {
  const std::size_t engine = static_cast<std::size_t>(std::max<std::int64_t>(1, side.engine_ranks));
  std::vector<Rank> dropped;
  for (std::size_t first = 0; first < side.ranks.size(); first += engine) {
    const auto begin = side.ranks.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end =
        begin + static_cast<std::ptrdiff_t>(std::min(engine, side.ranks.size() - first));
    if (std::any_of(begin, end,
                    [&](Rank rank) { return std::binary_search(lost.begin(), lost.end(), rank); }))
      dropped.insert(dropped.end(), begin, end);
  }
  std::sort(dropped.begin(), dropped.end());
  return dropped;
}

ReducedProblem reduced_problem(ProblemInput input, const std::vector<SidePlacement>& sides,
                               const Membership& membership, const Topology& topology) {
  if (membership.ranks.empty()) return {make_problem(input), {}};
  const ReshardProblem whole = make_problem(input);
  input.absent_sources = membership.ranks;
  if (sides.empty())
    input.absent_destinations = {membership.ranks};
  else
    for (std::size_t pool = 1; pool < sides.size(); ++pool)
      input.absent_destinations.push_back(dropped_destinations(sides[pool], membership.ranks));
  ReducedProblem reduced{make_problem(input), {}};
  reduced.missing = missing_tensors(reduced.problem, whole, membership.ranks, topology);
  if (reduced.missing.empty()) return reduced;
  if (!membership.allow_missing) throw MissingHolders(std::move(reduced.missing));
  std::vector<std::string> names;
  for (const MissingTensor& tensor : reduced.missing) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  leave_out(input, names);
  reduced.problem = make_problem(input);
  return reduced;
}

}  // namespace transload
