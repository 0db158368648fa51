// The critical path of a simulation: every operation for scripts, stretches in words for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "planner/schedule/plan_file.h"
#include "simulator/simulate.h"

namespace transload {

nlohmann::json critical_path_json(const Plan& plan, const SimulationResult& result);

// Consecutive operations of one role between the same ranks are one line.
std::string critical_path_text(const Plan& plan, const SimulationResult& result);

}  // namespace transload
