// The overlap of both layouts, box by box: what `transload transfers` lists before any strategy
// decides who sends what.
//
// One *overlap* is the intersection of one source box and one destination box of a rank. Boxes of a
// rank are maximal (adjacent ones are merged), and sources that hold equal boxes are one overlap
// with several holders. A whole model has tens of millions of overlaps but few distinct layouts, so
// totals are counted per group of equal tensors and overlaps are visited one by one, never stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/layout/problem.h"

namespace transload {

// One operation of the overlap; the references live as long as the visit.
struct Overlap {
  std::uint32_t tensor = 0;  // in plan order
  Rank destination = 0;
  const Box& box;
  std::int64_t bytes = 0;
  std::span<const Rank> holders;      // ascending; the first is who would send it
  std::int64_t source_runs = 0;       // contiguous byte runs in the first holder's shards
  std::int64_t destination_runs = 0;  // and in the destination's
};

struct OverlapTotals {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t pairs = 0;  // distinct (first holder, destination rank)
};

// The boxes of each rank, by rank and then by bounds. Boxes of one rank that together are a box
// become one, dimension after dimension, but where they are slots.
std::vector<RankBox> maximal_boxes(const Layout& layout);

// Tensors (in plan order) called `pattern`: by exact name, else by glob (*, ?, [...]); all without
// a pattern. Listed in the job's own order. InputError if there is none.
std::vector<std::uint32_t> select_tensors(const ReshardProblem& problem,
                                          const std::optional<std::string>& pattern);

// The group that a tensor (in plan order) stands in, as an index of `problem.groups`.
std::size_t group_of(const ReshardProblem& problem, std::uint32_t tensor);

class OverlapLister {
 public:
  // `problem` must outlive the lister.
  explicit OverlapLister(const ReshardProblem& problem) : problem_(problem) {}

  OverlapTotals totals(const std::vector<std::uint32_t>& tensors);

  // Visits the overlaps of the tensors in their order, by source box, destination box and
  // destination rank, until `limit` were visited.
  void visit(const std::vector<std::uint32_t>& tensors, std::uint64_t limit,
             const std::function<void(const Overlap&)>& visit);

 private:
  // Distinct boxes of a layout with the ranks that hold each, ascending.
  using BoxTable = std::map<Box, std::vector<Rank>>;
  const BoxTable& table(std::uint32_t layout);
  // Calls visit(box, holders, receivers) for each pair of boxes that meet; stops when it says
  // false.
  template <class Visit>
  void for_each_meeting(const TensorGroup& group, Visit&& visit);

  const ReshardProblem& problem_;
  std::map<std::uint32_t, BoxTable> tables_;  // by layout, made when first asked for
};

// Contiguous runs that `box` consists of in the shards that `rank` holds of the layout.
std::int64_t runs_in_shards(const Layout& layout, Rank rank, const Box& box,
                            std::int64_t element_bits);

}  // namespace transload
