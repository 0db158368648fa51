// Packing tensors into broadcast buckets, and every bucket into parts by the rank that contributes
// them. Internal to planner/strategy.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/layout/problem.h"
#include "planner/schedule/builder.h"

namespace transload {

struct ByteRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool empty() const { return begin == end; }
};

// What one trainer contributes to a bucket: a contiguous range of the bucket's packed order.
struct BucketPart {
  Rank owner = 0;
  ByteRange range;
};

struct Bucket {
  std::int32_t bundle = kNone;
  std::int64_t bytes = 0;
  std::uint32_t tensors = 0;
  std::int64_t load_run = 0;  // bytes: shortest contiguous run in which an engine loads from it
  std::vector<BucketPart> parts;
};

// Tensors in the order in which a trainer exports them: layer by layer; within a layer the tensors
// of all holders alternate, as an export that gathers one expert of every expert-parallel rank at a
// time.
std::vector<std::uint32_t> export_order(const ReshardProblem& problem);

// Bytes of the shortest contiguous run in which an engine loads tensors of the group out of a
// bucket of whole tensors.
std::int64_t shortest_load_run(const ReshardProblem& problem, const TensorGroup& group);

// Which tensors a strategy packs; empty: all.
using TensorFilter = std::function<bool(std::uint32_t tensor)>;

// Adds one bundle per bucket of at least `bucket_bytes` (the last one may be smaller; a bucket may
// overshoot by one tensor). `place_of` ranks the owners: parts of a bucket are ordered by it.
std::vector<Bucket> make_buckets(PlanBuilder& builder, const ReshardProblem& problem,
                                 std::int64_t bucket_bytes,
                                 const std::function<std::int64_t(Rank)>& place_of,
                                 const TensorFilter& packed);

}  // namespace transload
