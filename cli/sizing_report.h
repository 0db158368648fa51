// What sizes a cluster beside the refit time, as `simulate` reports it: who stands still for how
// long, the first refit, memory, GPU hours.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/session.h"
#include "simulator/sizing/availability.h"
#include "simulator/sizing/first_refit.h"
#include "simulator/sizing/memory.h"

namespace transload {

struct SizingFlags {
  std::optional<std::string> source_reserve;
  std::optional<std::string> reserve;
  std::optional<double> refits_per_day;
};
void add_sizing_flags(CLI::App* command, SizingFlags& flags);

struct SizingReport {
  Availability availability;
  // Nothing where the plan is not for NCCL: the other executors connect when they start.
  std::optional<FirstRefitCosts> first_refit;
  MemoryUse memory;
  std::optional<double> refits_per_day;
  double refit_s = 0;
};
SizingReport sizing_report(const Plan& plan, const SimulationResult& result,
                           const ClusterFacts& facts, const SizingFlags& flags,
                           bool sources_on_host);

// Keys: first_refit_s first_refit{} pause_s replicas[] source_stages[] fits peak_bytes memory[]
// gpu_hours_per_refit gpu_hours_per_day sizing_assumptions[].
nlohmann::json sizing_json(const SizingReport& report);
std::string sizing_text(const SizingReport& report);

}  // namespace transload
