// The tasks of p2p's full-tensor mode: which tensors a mesh gathers at once. Internal to p2p.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/demand/demand.h"
#include "planner/schedule/builder.h"
#include "planner/strategy/buckets.h"
#include "planner/strategy/fabric.h"

namespace transload {

// A range of a task's packed order that the same ranks hold.
struct TaskPiece {
  ByteRange range;
  std::uint32_t holders = 0;  // RankSets id
};

// What the same receivers want of some tensors; pieces stand in the order of their first holders'
// rails (planner/strategy/rail_gather.h).
struct GatherTask {
  Bucket bucket;                // bundle, bytes, tensors
  Bucket made;                  // what is written in its place, converted; no bundle: the same
  std::uint32_t receivers = 0;  // RankSets id
  std::vector<TaskPiece> pieces;
};

// Ranks whose tensors are gathered together, and what they gather, in order: the receivers take
// turns.
struct Mesh {
  std::vector<Rank> ranks;
  std::vector<GatherTask> tasks;
};

// Tensors by the ranks that hold any of them, in tasks of at least `task_bytes` and about
// `task_limit` of them per mesh. Adds the bundles. Of what is converted the original is gathered.
std::vector<Mesh> make_meshes(PlanBuilder& builder, const ReshardProblem& problem,
                              const Demand& demand, const Fabric& fabric, std::int64_t task_bytes,
                              std::int64_t task_limit);

// Numbers of meshes by mesh group: meshes of a group have no rank in common, and groups are as few
// as taking every mesh to the first group that has room gives.
std::vector<std::vector<std::size_t>> mesh_groups(const std::vector<Mesh>& meshes);

}  // namespace transload
