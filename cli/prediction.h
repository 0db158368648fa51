// A simulation in the words of `simulate` and `compare`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "planner/schedule/plan_file.h"
#include "simulator/simulate.h"

namespace transload {

// Whether every rank has room for its weights and its staging; nothing where the memory of a GPU
// that takes part is unknown.
std::optional<bool> fits_memory(const Plan& plan);
std::uint64_t peak_bytes(const Plan& plan);  // of the rank that needs most

nlohmann::json prediction_json(const Plan& plan, const SimulationResult& result);
std::string prediction_text(const Plan& plan, const SimulationResult& result);

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
