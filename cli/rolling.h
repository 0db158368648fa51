// A rolling refit: so many engines at a time, the others go on serving.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/conditions.h"
#include "cli/progress.h"
#include "simulator/simulate.h"
#include "simulator/sizing/cluster_facts.h"

namespace transload {

struct RollingWave {
  std::vector<std::string> replicas;
  double refit_s = 0;
  double bound_s = 0;
  double pause_s = 0;  // the longest of its replicas
};

struct RollingRefit {
  std::size_t at_a_time = 0;
  std::size_t replicas = 0;
  std::vector<RollingWave> waves;  // one after the other
  double total_s = 0;              // until the last replica has the new weights
  double pause_s = 0;              // the longest of any replica
  double replica_pause_s = 0;      // of all replicas together
};

// Each wave is planned for its replicas alone, in their order, and simulated; the source takes part
// in every one. The job's topology is already as the conditions have it; `flags` still say where
// source weights lie. InputError where there are no replicas (tensor jobs) and for less than one at
// a time.
RollingRefit rolling_refit(const Job& job, const std::vector<RankSet>& replicas,
                           const StrategyChoice& strategy, Discipline discipline,
                           std::int64_t at_a_time, const ConditionFlags& flags,
                           const SimulateOptions& options, Progress& progress);

nlohmann::json rolling_json(const RollingRefit& rolling);
std::string rolling_text(const RollingRefit& rolling);

}  // namespace transload
