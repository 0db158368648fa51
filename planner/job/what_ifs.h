// What-ifs: one change of a job each, as edits of its text, that could make the refit shorter.
//
// Only what can be bought, set or laid out otherwise: NICs and their rate, the size of an NVLink
// domain, the destination's tensor parallelism, more trainers, bytes per element, discipline and
// helpers. Nothing is predicted here; `transload explain` plans each of them.
#pragma once

#include <string>
#include <vector>

#include "planner/job/job.h"
#include "planner/job/job_edit.h"

namespace transload {

struct WhatIf {
  std::string change;          // in words: "one more NIC per GPU"
  std::vector<JobEdit> edits;  // empty where `impossible` says why
  std::string note;            // what the prediction leaves out; may be empty
  std::string impossible;      // why this job cannot be changed so; empty: it can
};

// All what-ifs that make sense for the job (a tensor job's layouts are exact: only its cluster,
// discipline and helpers can change). `discipline` is the one that the job is planned for;
// `base_folder` is where the job's files are looked for.
std::vector<WhatIf> what_ifs(const Job& job, Discipline discipline, const std::string& base_folder);

}  // namespace transload
