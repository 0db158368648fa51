// From shardings (models/sharding.h) to boxes: which rank holds which box of a tensor.
//
// A `Layout` is one side of one tensor. Besides every rank's boxes it has the *grid*: per dimension
// all cut points, and for every cell of the grid the set of ranks that hold it. The overlap of two
// layouts is then a merge of two sorted cut lists per dimension.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/sharding.h"
#include "planner/layout/box.h"

namespace transload {

// Interned sets of ranks (ascending). Id 0 is the empty set; equal sets have equal ids.
class RankSets {
 public:
  RankSets();
  std::uint32_t intern(std::vector<Rank> ascending);
  std::span<const Rank> of(std::uint32_t id) const { return sets_[id]; }
  std::size_t size() const { return sets_.size(); }

 private:
  std::vector<std::vector<Rank>> sets_;
  std::map<std::vector<Rank>, std::uint32_t> ids_;
};

struct RankBox {
  Rank rank = 0;
  Box box;
};

struct Layout {
  std::vector<RankBox> shards;                  // non-empty boxes, by rank
  std::vector<std::vector<std::int64_t>> cuts;  // per dimension: ascending, from 0 to the extent
  std::vector<std::uint32_t> cells;             // row-major: rank set (RankSets id) of each cell
};

// Cuts [0, length) in `parts`; returns the bounds of part `index`. Both rules of SplitRule.
std::pair<std::int64_t, std::int64_t> split_range(std::int64_t length, std::int64_t parts,
                                                  std::int64_t index, SplitRule rule);

// The layout of a tensor of `shape` that one or several shardings (pools) spread. `what` begins
// error messages ("tensor w, source"). InputError: mesh size and number of ranks disagree,
// placements and axes disagree, a dimension that does not exist, a box outside the tensor, a rank
// that holds an element twice.
Layout make_layout(std::span<const Sharding* const> shardings, std::span<const std::int64_t> shape,
                   RankSets& sets, const std::string& what);

}  // namespace transload
