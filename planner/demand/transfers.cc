#include "planner/demand/transfers.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "common/error.h"
#include "common/yaml.h"

namespace transload {
namespace {

// The bounds of a box outside dimension `d`, then its place along `d`: what neighbours share comes
// first.
std::vector<std::int64_t> neighbour_order(const Box& box, std::size_t d) {
  std::vector<std::int64_t> order;
  order.reserve(box.bounds.size());
  for (std::size_t i = 0; i < box.dims(); ++i) {
    if (i == d) continue;
    order.push_back(box.lo(i));
    order.push_back(box.hi(i));
  }
  order.push_back(box.lo(d));
  order.push_back(box.hi(d));
  return order;
}

bool continues(const Box& before, const Box& box, std::size_t d) {
  for (std::size_t i = 0; i < box.dims(); ++i)
    if (i != d && (before.lo(i) != box.lo(i) || before.hi(i) != box.hi(i))) return false;
  return before.hi(d) == box.lo(d);
}

// Joins neighbours along `d`; true if there were any.
bool merge_along(std::vector<Box>& boxes, std::size_t d) {
  std::sort(boxes.begin(), boxes.end(), [&](const Box& a, const Box& b) {
    return neighbour_order(a, d) < neighbour_order(b, d);
  });
  std::vector<Box> merged;
  for (Box& box : boxes) {
    if (!merged.empty() && continues(merged.back(), box, d))
      merged.back().bounds[2 * d + 1] = box.hi(d);
    else
      merged.push_back(std::move(box));
  }
  const bool any = merged.size() < boxes.size();
  boxes = std::move(merged);
  return any;
}

void merge_boxes(std::vector<Box>& boxes) {
  bool again = boxes.size() > 1;
  while (again) {
    again = false;
    const std::size_t dims = boxes.front().dims();
    // The last dimension first: rows that lie side by side in memory should become one.
    for (std::size_t d = dims; d-- > 0;) again = merge_along(boxes, d) || again;
    again = again && boxes.size() > 1;
  }
  std::sort(boxes.begin(), boxes.end());
}

}  // namespace

std::size_t group_of(const ReshardProblem& problem, std::uint32_t tensor) {
  const auto after =
      std::upper_bound(problem.groups.begin(), problem.groups.end(), tensor,
                       [](std::uint32_t t, const TensorGroup& group) { return t < group.first; });
  return static_cast<std::size_t>(after - problem.groups.begin()) - 1;
}

std::vector<RankBox> maximal_boxes(const Layout& layout) {
  std::vector<RankBox> result;
  result.reserve(layout.shards.size());
  for (std::size_t i = 0; i < layout.shards.size();) {
    const Rank rank = layout.shards[i].rank;
    std::vector<Box> boxes;
    for (; i < layout.shards.size() && layout.shards[i].rank == rank; ++i)
      boxes.push_back(layout.shards[i].box);
    if (layout.slots)
      std::sort(boxes.begin(), boxes.end());
    else
      merge_boxes(boxes);
    for (Box& box : boxes) result.push_back({rank, std::move(box)});
  }
  return result;
}

std::vector<std::uint32_t> select_tensors(const ReshardProblem& problem,
                                          const std::optional<std::string>& pattern) {
  std::vector<std::uint32_t> in_job_order(problem.names.size());
  for (std::uint32_t t = 0; t < problem.names.size(); ++t)
    in_job_order[problem.input_position[t]] = t;
  if (!pattern) return in_job_order;
  std::vector<std::uint32_t> selected;
  const auto take_where = [&](auto&& matches) {
    std::copy_if(in_job_order.begin(), in_job_order.end(), std::back_inserter(selected),
                 [&](std::uint32_t t) { return matches(problem.names[t]); });
  };
  take_where([&](const std::string& name) { return name == *pattern; });
  if (selected.empty())
    take_where([&](const std::string& name) {
      return fnmatch(pattern->c_str(), name.c_str(), FNM_NOESCAPE) == 0;
    });
  if (!selected.empty()) return selected;
  const auto near = nearest_word(*pattern, {problem.names.begin(), problem.names.end()});
  throw InputError(fmt::format("no tensor of the job is called {}{}", *pattern,
                               near ? fmt::format(" (did you mean {}?)", *near) : ""));
}

std::int64_t runs_in_shards(const Layout& layout, Rank rank, const Box& box,
                            std::int64_t element_bits) {
  const auto [first, last] =
      std::equal_range(layout.shards.begin(), layout.shards.end(), RankBox{rank, {}},
                       [](const RankBox& a, const RankBox& b) { return a.rank < b.rank; });
  std::int64_t runs = 0;
  for (auto shard = first; shard != last; ++shard) {
    const Box part = intersection(shard->box, box);
    const std::int64_t elements = volume(part);
    if (elements > 0) runs += elements / contiguous_run(layout, *shard, part, element_bits);
  }
  return runs;
}

const OverlapLister::BoxTable& OverlapLister::table(std::uint32_t layout) {
  const auto [entry, added] = tables_.try_emplace(layout);
  if (added)
    for (RankBox& shard : maximal_boxes(problem_.layouts[layout]))
      entry->second[std::move(shard.box)].push_back(shard.rank);
  return entry->second;
}

template <class Visit>
void OverlapLister::for_each_meeting(const TensorGroup& group, Visit&& visit) {
  const BoxTable& receivers = table(group.destination);
  for (const auto& [from, holders] : table(group.source)) {
    for (const auto& [to, ranks] : receivers) {
      // Boxes ascend with their first bound.
      if (from.dims() > 0 && to.lo(0) >= from.hi(0)) break;
      const Box box = intersection(from, to);
      if (volume(box) == 0) continue;
      if (!visit(box, holders, ranks)) return;
    }
  }
}

OverlapTotals OverlapLister::totals(const std::vector<std::uint32_t>& tensors) {
  std::vector<std::int64_t> selected(problem_.groups.size(), 0);
  for (std::uint32_t tensor : tensors) ++selected[group_of(problem_, tensor)];
  OverlapTotals totals;
  std::unordered_set<std::uint64_t> pairs;  // counted only
  for (std::size_t g = 0; g < selected.size(); ++g) {
    if (selected[g] == 0) continue;
    const TensorGroup& group = problem_.groups[g];
    for_each_meeting(group, [&](const Box& box, const std::vector<Rank>& holders,
                                const std::vector<Rank>& receivers) {
      const std::int64_t operations = static_cast<std::int64_t>(receivers.size()) * selected[g];
      totals.count += operations;
      totals.bytes += operations * volume(box) * element_bytes(group.dtype);
      for (Rank rank : receivers)
        pairs.insert(static_cast<std::uint64_t>(holders.front()) << 32 |
                     static_cast<std::uint64_t>(rank));
      return true;
    });
  }
  totals.pairs = static_cast<std::int64_t>(pairs.size());
  return totals;
}

void OverlapLister::visit(const std::vector<std::uint32_t>& tensors, std::uint64_t limit,
                          const std::function<void(const Overlap&)>& visit) {
  std::uint64_t visited = 0;
  for (std::uint32_t tensor : tensors) {
    if (visited == limit) return;
    const TensorGroup& group = problem_.groups[group_of(problem_, tensor)];
    const Layout& source = problem_.layouts[group.source];
    const Layout& destination = problem_.layouts[group.destination];
    for_each_meeting(group, [&](const Box& box, const std::vector<Rank>& holders,
                                const std::vector<Rank>& receivers) {
      const std::int64_t bytes = volume(box) * element_bytes(group.dtype);
      const std::int64_t bits = dtype_bits(group.dtype);
      const std::int64_t source_runs = runs_in_shards(source, holders.front(), box, bits);
      for (Rank rank : receivers) {
        if (visited == limit) return false;
        ++visited;
        visit({tensor, rank, box, bytes, holders, source_runs,
               runs_in_shards(destination, rank, box, bits)});
      }
      return true;
    });
  }
}

}  // namespace transload
