// Who stands still during a refit, and for how long: stages of the trainer, engines, and what that
// costs in GPU time.
#pragma once

#include <string>
#include <vector>

#include "simulator/simulate.h"
#include "simulator/sizing/cluster_facts.h"

namespace transload {

// A pipeline stage of the source: free when all of its ranks are.
struct StageTime {
  std::string name;
  std::vector<std::int32_t> ranks;
  double free_s = 0;
};

// An engine, or a destination rank by itself where no engines are known. It pauses from the
// first operation that writes its weights (until then it may serve the old ones) until all of its
// ranks are ready.
struct ReplicaTime {
  std::string name;
  std::vector<std::int32_t> ranks;
  double paused_from_s = 0;
  double ready_s = 0;
  double pause_s() const { return ready_s - paused_from_s; }
};

struct Availability {
  std::vector<StageTime> stages;  // as the facts have them
  std::vector<ReplicaTime> replicas;
  double pause_s = 0;  // the longest of a replica
  // GPU time that one refit takes from training and serving: each source rank until it is free,
  // each replica's ranks while it pauses; a rank on both sides until the later of the two.
  double gpu_s = 0;
};

Availability availability(const Plan& plan, const SimulationResult& result,
                          const ClusterFacts& facts);

}  // namespace transload
