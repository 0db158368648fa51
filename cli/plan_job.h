// The job inside a plan file, read again: what `replan` edits and `explain` asks its what-ifs of.
#pragma once

#include <optional>
#include <string>

#include "planner/job/job.h"
#include "planner/schedule/plan_file.h"

namespace transload {

// The text of the job that makes this plan: as it was read, with the plan's own strategy and
// discipline where the text says others.
std::string job_text_of(const Plan& plan);

// Where the job's relative paths start from: `flag` (--base), else the folder of the plan file.
std::string base_folder_of(const std::string& path, const std::optional<std::string>& flag);

// A job of `text` under the name that the plan's job had.
Job job_named_as(const Plan& plan, const std::string& text, const std::string& base_folder);

}  // namespace transload
