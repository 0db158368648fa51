// What the tests of user cases share: a job as text, and its layouts as the lists that a case
// states: rows and boxes by rank, operations of the overlap (contract 1.3), totals of a plan.
//
// A case is one public problem of somebody's refit with the values that a right layout gives
// (data/cases.json of the project's material). Tests are named by its id. Dimensions of cases are
// small, so everything is listed.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "planner/demand/transfers.h"
#include "planner/job/job.h"
#include "planner/schedule/access.h"
#include "planner/strategy/strategy.h"

namespace transload::testing {

using Ids = std::vector<std::int64_t>;
using Ranks = std::vector<Rank>;

// A topology whose nodes (NVLink domains) have so many GPUs each; rank r is GPU r.
inline std::string nodes(const std::vector<int>& gpus) {
  std::string text;
  for (const int count : gpus)
    text += fmt::format("{}{{gpus: {}, nic: 50GB/s, nvlink: 450GB/s}}", text.empty() ? "" : ", ",
                        count);
  return "topology: {efficiency: 1, latency: 0, nodes: [" + text + "]}\n";
}

// A tensor of a job, with both sides in flow style.
inline std::string tensor(const std::string& name, const std::string& shape,
                          const std::string& dtype, const std::string& source,
                          const std::string& destination) {
  return fmt::format(
      "  - {{name: {}, shape: {}, dtype: {},\n     source: {{{}}},\n     destination: {{{}}}}}\n",
      name, shape, dtype, source, destination);
}

inline Job job_of(const std::string& tensors, const std::string& topology = nodes({64})) {
  return job_from_text(topology + "tensors:\n" + tensors, "job.yaml", "");
}

// What is refused, and with which words: of the job, or of what no source holds.
inline std::string refusal(const std::string& tensors) {
  try {
    const Job job = job_of(tensors);
    make_demand(job.problem);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

struct Operation {
  std::string tensor;
  Rank source = 0;
  Rank destination = 0;
  Box box;
  std::int64_t bytes = 0;
  Ranks holders;
  std::int64_t source_runs = 0;
  std::int64_t destination_runs = 0;
  // Of dimension 0.
  std::int64_t lo() const { return box.lo(0); }
  std::int64_t hi() const { return box.hi(0); }
};

inline std::vector<Operation> operations(const Job& job,
                                         const std::optional<std::string>& name = std::nullopt) {
  std::vector<Operation> list;
  OverlapLister lister(job.problem);
  lister.visit(select_tensors(job.problem, name), std::numeric_limits<std::uint64_t>::max(),
               [&](const Overlap& overlap) {
                 list.push_back({job.problem.names[overlap.tensor],
                                 overlap.holders.front(),
                                 overlap.destination,
                                 overlap.box,
                                 overlap.bytes,
                                 {overlap.holders.begin(), overlap.holders.end()},
                                 overlap.source_runs,
                                 overlap.destination_runs});
               });
  return list;
}

inline OverlapTotals totals(const Job& job, const std::optional<std::string>& name = std::nullopt) {
  OverlapLister lister(job.problem);
  return lister.totals(select_tensors(job.problem, name));
}

inline const TensorGroup& group_of(const Job& job, const std::string& name) {
  const std::uint32_t tensor = select_tensors(job.problem, name).at(0);
  for (const TensorGroup& group : job.problem.groups)
    if (tensor >= group.first && tensor < group.first + group.count) return group;
  throw std::out_of_range(name);
}

inline const Layout& layout_of(const Job& job, const std::string& name, Side side) {
  const TensorGroup& group = group_of(job, name);
  return job.problem.layouts[side == Side::kSource ? group.source : group.destination];
}

// Maximal boxes by rank.
inline std::map<Rank, std::vector<Ids>> boxes(const Job& job, const std::string& name, Side side) {
  std::map<Rank, std::vector<Ids>> all;
  for (const RankBox& shard : maximal_boxes(layout_of(job, name, side)))
    all[shard.rank].push_back(shard.box.bounds);
  return all;
}

// Indices of dimension 0 by rank, in the order in which the rank stores them. For layouts that cut
// dimension 0 only.
inline std::map<Rank, Ids> rows(const Job& job, const std::string& name, Side side) {
  std::map<Rank, std::map<std::int64_t, Ids>> by_offset;
  for (const RankBox& shard : layout_of(job, name, side).shards)
    for (std::int64_t row = shard.box.lo(0); row < shard.box.hi(0); ++row)
      by_offset[shard.rank][shard.offset_bits].push_back(row);
  std::map<Rank, Ids> all;
  for (const auto& [rank, pieces] : by_offset)
    for (const auto& [offset, piece] : pieces)
      all[rank].insert(all[rank].end(), piece.begin(), piece.end());
  return all;
}

// The extents of dimension `d` that ranks hold in all, by rank; those that hold nothing have 0.
inline std::map<Rank, std::int64_t> lengths(const Job& job, const std::string& name, Side side,
                                            std::size_t d = 0) {
  const Layout& layout = layout_of(job, name, side);
  std::map<Rank, std::int64_t> all;
  for (const RankStorage& storage : layout.storage) all[storage.rank] = 0;
  for (const RankBox& shard : layout.shards) all[shard.rank] += shard.box.extent(d);
  return all;
}

// Byte address of an element in the buffer of a rank that holds it; -1 where it does not.
inline std::int64_t address(const Layout& layout, Rank rank, const Ids& element) {
  for (const RankBox& shard : layout.shards) {
    Box one;
    for (const std::int64_t index : element) {
      one.bounds.push_back(index);
      one.bounds.push_back(index + 1);
    }
    if (shard.rank != rank || !contains(shard.box, one)) continue;
    std::int64_t bits = shard.offset_bits;
    const PlaceLoops& loops = layout.loops[shard.loops];
    std::vector<std::int64_t> left;
    for (std::size_t d = 0; d < element.size(); ++d) left.push_back(element[d] - shard.box.lo(d));
    for (std::size_t i = loops.size(); i-- > 0;) {
      bits += left[loops[i].dim] % loops[i].length * loops[i].stride_bits;
      left[loops[i].dim] /= loops[i].length;
    }
    return bits / 8;
  }
  return -1;
}

inline PlanTotals planned(const Job& job, const std::string& strategy = "transload") {
  StrategyChoice choice;
  choice.name = strategy;
  return plan_totals(make_plan(job, prepare(job), choice, Discipline::kWindows));
}

// Indices low to high - 1.
inline Ids range(std::int64_t low, std::int64_t high) {
  Ids ids;
  for (std::int64_t i = low; i < high; ++i) ids.push_back(i);
  return ids;
}

}  // namespace transload::testing
