// A simulation in the words of `simulate` and `compare`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "planner/schedule/plan_file.h"
#include "simulator/calibration/calibration.h"
#include "simulator/simulate.h"

namespace transload {

// `host`: what the framework's hosts add; the refit is then longer than what was simulated, and the
// additions are phases of their own.
nlohmann::json prediction_json(const Plan& plan, const SimulationResult& result,
                               const std::optional<HostPrediction>& host = {});
std::string prediction_text(const Plan& plan, const SimulationResult& result,
                            const std::optional<HostPrediction>& host = {});

// How the refit of a plan made of collectives divides in time: until the first hop of a broadcast
// starts, from there to the end of the last one, and the rest. What of export and load hides behind
// the broadcast is not counted, so the three add up to the refit.
struct ExposedPhases {
  double export_s = 0;
  double broadcast_s = 0;
  double load_s = 0;
};
// Nothing for plans without collectives and host work.
std::optional<ExposedPhases> exposed_phases(const Plan& plan, const SimulationResult& result);

}  // namespace transload
