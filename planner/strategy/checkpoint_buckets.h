// Buckets of whole tensors by the rank that has them in host memory. Internal to checkpoint-engine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/job/job.h"
#include "planner/strategy/buckets.h"
#include "planner/strategy/fabric.h"

namespace transload {

struct CheckpointConstants {
  std::int64_t memory_fraction_ppm = 0;
  std::int64_t bucket_limit = 0;
  std::int64_t h2d_rate = 0;  // bytes/s
  std::int64_t broadcast_rails = 1;
  std::int64_t load_per_tensor_ps = 0;
  std::int64_t piece = 0;
  std::vector<std::string> assumptions;
};
CheckpointConstants load_checkpoint_constants();

// Bytes of the largest tensor.
struct LargestTensor {
  std::int64_t bytes = 0;
  std::uint32_t tensor = 0;
};
LargestTensor largest_tensor(const ReshardProblem& problem);

// How large buckets are and whether every rank has a third buffer to copy its next bucket into.
struct BucketShape {
  std::int64_t bytes = 0;
  bool third_buffer = true;
};
// free = 0.9 x the least free memory of a rank (what its weights leave). Three buffers of at most
// free / 3 where the largest tensor fits one, else two of at most free / 2; nothing where it does
// not fit either. Where the memory of a GPU is unknown only the limit of 8 GiB counts.
std::optional<BucketShape> bucket_shape(const Job& job, const CheckpointConstants& constants,
                                        std::optional<std::int64_t> asked);

// One rank's buckets, in their order.
struct OwnerBuckets {
  Rank owner = 0;
  std::vector<Bucket> buckets;
};
// Every tensor belongs to the rank with the fewest bytes so far that holds all of it; a bucket is
// closed before the tensor that would overflow it, and a tensor is never cut. Adds the bundles.
std::vector<OwnerBuckets> make_owner_buckets(PlanBuilder& builder, const ReshardProblem& problem,
                                             std::int64_t bucket_bytes);

// Ranks that hold all of a tensor of the group, ascending.
std::vector<Rank> whole_holders(const ReshardProblem& problem, const TensorGroup& group);

}  // namespace transload
