// A digest of everything that a plan depends on: the job as loaded, so that a file that the job
// refers to (a model's config, an expert table, a topology) counts by its content and not by its
// name.
#pragma once

#include "common/hash.h"
#include "planner/job/job.h"

namespace transload {

// Text and name of the job (a plan carries both), every tensor with its layouts and its place in
// memory, the topology with all rates, and the trainer's groups. Strategy and options stand in the
// text.
Digest content_digest(const Job& job);

}  // namespace transload
