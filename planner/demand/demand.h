// Demand: which bytes each destination needs and who can supply them.
//
// The overlap of source and destination cells of every tensor group, gathered by (holders,
// receivers): a *demand class* is all data that the same ranks hold and the same ranks want. 70,000
// tensors become a few thousand classes, and all assignment works on them.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/layout/problem.h"

namespace transload {

// One box of every tensor of a group.
struct DemandSlice {
  std::uint32_t group = 0;
  Box box;
};

struct DemandClass {
  std::uint32_t holders = 0;    // RankSets id, never empty
  std::uint32_t receivers = 0;  // RankSets id, never empty
  std::int64_t bytes = 0;
  std::vector<DemandSlice> slices;  // in plan order: the class's packed order
  bool converts = false;            // holders make all of it; else they hold it as it travels
};

struct Demand {
  std::vector<DemandClass> classes;  // in order of first appearance
};

// Bytes of a slice: its box of every tensor of the group.
std::int64_t slice_bytes(const ReshardProblem& problem, const DemandSlice& slice);

// Visits the common cells of two layouts: (box, rank set of `a`, rank set of `b`), row-major.
template <class Visit>
void for_each_common_cell(const Layout& a, const Layout& b, Visit&& visit);

// What the receivers make themselves is no demand: what they make it from is. InputError, naming
// tensor, rank and box, where a destination wants elements that no source holds.
Demand make_demand(const ReshardProblem& problem);

// The demand with the bytes of each class as few as any schedule could make them: what receivers
// convert counts in the narrower of the two types. For bounds.
Demand narrowest(const ReshardProblem& problem, Demand demand);

// ---- implementation of the template ----

struct CutSegment {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  std::size_t index_a = 0;
  std::size_t index_b = 0;
};

// Merges two cut lists over the same extent.
std::vector<CutSegment> merge_cuts(const std::vector<std::int64_t>& a,
                                   const std::vector<std::int64_t>& b);

template <class Visit>
void for_each_common_cell(const Layout& a, const Layout& b, Visit&& visit) {
  const std::size_t dims = a.cuts.size();
  std::vector<std::vector<CutSegment>> segments(dims);
  for (std::size_t d = 0; d < dims; ++d) {
    segments[d] = merge_cuts(a.cuts[d], b.cuts[d]);
    if (segments[d].empty()) return;  // a dimension of extent 0
  }
  std::vector<std::size_t> at(dims, 0);
  Box box;
  box.bounds.resize(2 * dims);
  while (true) {
    std::size_t cell_a = 0;
    std::size_t cell_b = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      const CutSegment& segment = segments[d][at[d]];
      cell_a = cell_a * (a.cuts[d].size() - 1) + segment.index_a;
      cell_b = cell_b * (b.cuts[d].size() - 1) + segment.index_b;
      box.bounds[2 * d] = segment.lo;
      box.bounds[2 * d + 1] = segment.hi;
    }
    visit(box, a.cells[cell_a], b.cells[cell_b]);
    std::size_t d = dims;
    while (d-- > 0) {
      if (++at[d] < segments[d].size()) break;
      at[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

}  // namespace transload
