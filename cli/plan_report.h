// A plan in the words of `plan` and `replan`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planner/job/job.h"
#include "planner/schedule/access.h"
#include "planner/schedule/plan_file.h"

namespace transload {

// How a plan came about: the time from the job to it, and whether it came out of the plan cache.
struct PlanMaking {
  double plan_s = 0;
  bool cached = false;
};

nlohmann::json plan_json(const Job& job, const Plan& plan, const PlanTotals& totals,
                         const PlanMaking& making);
std::string plan_text(const Job& job, const Plan& plan, const PlanTotals& totals,
                      const PlanMaking& making);

}  // namespace transload
