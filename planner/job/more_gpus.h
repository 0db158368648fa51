// More GPUs for one side of a job: which nodes they come from.
//
// Ranks are devices, so a job that grows must not move anybody who is already there: the edits
// write down the nodes of every side, give the grown side free nodes behind its own, and, where
// those run out and the topology is a library entry with `nodes` or `racks`, ask for more of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/job/job.h"
#include "planner/job/job_edit.h"

namespace transload {

// The edits of `job` that give its side number `side` (of Job::sides) `gpus` more GPUs.
// `base_folder` is where the job's files are looked for. InputError, naming the side and how many
// GPUs are free, where they do not suffice; and where the only GPUs left on its nodes are lost.
std::vector<JobEdit> more_gpus(const Job& job, std::size_t side, std::int64_t gpus,
                               const std::string& base_folder);

}  // namespace transload
