// Bundles as boxes per tensor: what a byte range of a packed order is in global coordinates.
#pragma once

#include <deque>
#include <vector>

#include "planner/schedule/check/findings.h"
#include "planner/schedule/check/tensor_sweep.h"

namespace transload {

// A byte range of a bundle that one operation reads from or writes to shards.
struct BundleRange {
  std::int32_t bundle;
  std::uint64_t begin;
  std::uint64_t end;
  OpId op;
  bool clipped;
};
void sort_ranges(std::vector<BundleRange>& ranges);

// Adds the rank's shard rows of one side as wanted items; rows without elements are left out.
void add_shard_items(const Plan& plan, std::int32_t rank, Side side, std::vector<SweepItem>& items);
// Adds the slices of a whole bundle, tagged; slices without elements are left out.
void add_bundle_items(const Plan& plan, std::int32_t bundle, std::uint32_t tag,
                      std::vector<SweepItem>& items);
// Adds what bytes [begin, end) of the bundle touch (elements cut by the range count whole). Boxes
// that are parts of slices are kept in `parts`.
void add_range_items(const Plan& plan, std::int32_t bundle, std::uint64_t begin, std::uint64_t end,
                     std::uint32_t tag, std::vector<SweepItem>& items,
                     std::deque<OwnedBounds>& parts);

// Slices of another name of a tensor become slices of the tensor, whose source shards serve both.
void name_slices_by_source(const Plan& plan, std::vector<SweepItem>& items);

// Slices of made tensors become what must be read whole to make them: boxes, on borders of blocks,
// of the tensors that they are made from. Boxes that differ are kept in `parts`.
void name_slices_by_origin(const Plan& plan, std::vector<SweepItem>& items,
                           std::deque<OwnedBounds>& parts);

}  // namespace transload
