// Which tensors of a model a job moves, which have no place, and which need a conversion after they
// arrived. Internal to planner/job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "models/sharding.h"
#include "planner/job/job.h"
#include "planner/job/name_globs.h"

namespace transload {

// One pool of a job: what its engine made of the model, and its field in the job.
struct JobSide {
  std::string field;  // "source", "destination[1]"
  std::vector<Rank> ranks;
  ShardedModel sharded;
};

struct Coverage {
  std::vector<std::uint32_t> moved;  // tensors that both sides hold, in the model's order
  std::vector<std::string> unplaced;
  std::vector<NeedsConversion> needs_conversion;
};

// Decides per tensor. InputError naming it: its rule is unknown on a side; a pool holds it and the
// source does not; no pool holds what the source holds, and `allow_unplaced` does not name it.
// Destinations of tensors whose value differs between the sides become shadow buffers.
Coverage cover(std::span<const LogicalTensor> tensors, const std::vector<bool>& included,
               const JobSide& source, std::vector<JobSide>& pools, NameGlobs& allow_unplaced);

}  // namespace transload
