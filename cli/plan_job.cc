#include "cli/plan_job.h"

#include <filesystem>
#include <vector>

#include "common/error.h"
#include "planner/job/job_edit.h"

namespace transload {

std::string job_text_of(const Plan& plan) {
  const PlanHeader& header = plan.header();
  if (header.scale > 1)
    throw InputError("the plan was scaled down for a run; expected the plan of the whole job");
  const std::string& text = header.job_text;
  std::vector<JobEdit> edits;
  const auto strategy = value_at(text, "strategy", header.job_name);
  const StrategyChoice stated = strategy ? parse_strategy(*strategy) : StrategyChoice{};
  if (stated.name != header.strategy) edits.push_back({"strategy", header.strategy});
  const std::string discipline(name_of(header.discipline));
  const auto said = value_at(text, "options.discipline", header.job_name);
  if (!said || !said->is_scalar() || said->text() != discipline)
    edits.push_back({"options.discipline", discipline});
  return edits.empty() ? text : edited_job(text, edits);
}

std::string base_folder_of(const std::string& path, const std::optional<std::string>& flag) {
  return flag ? *flag : std::filesystem::path(path).parent_path().string();
}

Job job_named_as(const Plan& plan, const std::string& text, const std::string& base_folder) {
  // A job is named after its file without the ending.
  return job_from_text(text, plan.header().job_name + ".yaml", base_folder);
}

}  // namespace transload
