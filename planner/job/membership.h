// Who is left of a job: ranks that are gone, NICs that are down, and what then has no holder.
//
// `without: {ranks: [3, 8-15], nics: ["node3:nic5"], allow_missing: true}` in a job. The layouts
// stay those of the whole job; the shards of lost ranks are taken out of them, so other replicas
// supply the bytes, and lost destinations want nothing. An inference engine that lost a rank cannot
// serve, so all of its ranks are dropped as destinations (not as sources). docs/jobs.md tells it
// for users, `transload replan` writes the key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/yaml.h"
#include "planner/layout/problem.h"
#include "topologies/topology.h"

namespace transload {

struct Membership {
  std::vector<Rank> ranks;        // lost, ascending
  std::vector<std::string> nics;  // "NODE:NIC", as written
  bool allow_missing = false;     // leave tensors without a holder out instead of refusing
  bool whole() const { return ranks.empty() && nics.empty(); }
};

// One side of a whole-model job: the GPUs that it takes, lost ones included.
struct SidePlacement {
  std::string field;              // "source", "destination", "destination[1]"
  std::vector<Rank> ranks;        // in the order in which the engine numbers them
  std::int64_t engine_ranks = 0;  // consecutive ranks that form one engine; 0: it has no engines
};

// A tensor of which no living source holds some box that a living destination wants.
struct MissingTensor {
  std::string name;
  std::string box;           // the first such box
  std::vector<Rank> lost;    // who held it
  Rank wanted_by = 0;        // first living destination that wants it
  Rank nearest_replica = 0;  // living destination rank with an older copy, nearest to lost[0]
};

// What a job throws that misses holders and does not allow it: exit code 2, and a list for reports.
class MissingHolders : public InputError {
 public:
  explicit MissingHolders(std::vector<MissingTensor> missing);
  const std::vector<MissingTensor>& missing() const { return missing_; }

 private:
  std::vector<MissingTensor> missing_;
};

// Reads `without` and takes its NICs from the topology. InputError for ranks, nodes and NICs that
// do not exist.
Membership parse_membership(const YamlValue& value, Topology& topology);

// The ranks of a destination that no longer want anything, ascending: the lost ones and those that
// share an engine with one.
std::vector<Rank> dropped_destinations(const SidePlacement& side, const std::vector<Rank>& lost);

// The problem without the lost ranks. Tensors without a holder are left out of it and listed; where
// that is not allowed, MissingHolders. `sides` is empty for tensor jobs, whose destinations lose
// only the ranks themselves.
struct ReducedProblem {
  ReshardProblem problem;
  std::vector<MissingTensor> missing;
};
ReducedProblem reduced_problem(ProblemInput input, const std::vector<SidePlacement>& sides,
                               const Membership& membership, const Topology& topology);

}  // namespace transload
