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
#include "planner/layout/segments.h"
#include "planner/layout/shards.h"

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

struct Layout {
  std::vector<RankBox> shards;                  // non-empty boxes, by rank
  std::vector<std::vector<std::int64_t>> cuts;  // per dimension: ascending, from 0 to the extent
  std::vector<std::uint32_t> cells;             // row-major: rank set (RankSets id) of each cell
  std::vector<PlaceLoops> loops;                // of the shards
  std::vector<RankStorage> storage;  // by rank; those that hold nothing of the tensor included
  bool slots = false;                // neighbouring boxes of a rank are slots of their own
};

// One sharding of a side: the source's, or that of one destination pool.
struct PoolSharding {
  std::uint32_t pool = 0;
  Sharding sharding;
  friend bool operator==(const PoolSharding&, const PoolSharding&) = default;
};

// The layout of a tensor of `shape`, with elements of `element_bits`, that one or several pools
// spread, without the shards of the `absent` ranks (ascending, by pool; pools past its end lack
// none). `what` begins error messages ("tensor w, source"). InputError: whatever make_shards
// refuses, a rank that holds an element twice.
Layout make_layout(std::span<const PoolSharding* const> pools, std::span<const std::int64_t> shape,
                   std::int64_t element_bits, RankSets& sets, const std::string& what,
                   std::span<const std::vector<Rank>> absent = {});

// Elements of the runs of `inner`, a box inside the shard, that are contiguous in memory and in
// row-major order (planner/layout/storage.h).
std::int64_t contiguous_run(const Layout& layout, const RankBox& shard, const Box& inner,
                            std::int64_t element_bits);

}  // namespace transload
