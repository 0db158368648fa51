// The tensors of a job as a caller of NCCL M2N hands them over: one call each.
//
// Experts of one layer and one name go as a single tensor with the expert as first dimension, as
// M2N's own model benchmark stacks them ([E, rows, columns]); everything else goes as it is. A
// communicator holds the ranks of both sides (one per pair of training and inference pipeline
// stage), and its calls run one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/layout/problem.h"
#include "planner/strategy/m2n/mesh.h"

namespace transload {

struct M2nTensor {
  std::string name;                 // of a stack: "model.layers.3.mlp.experts.*.up_proj.weight"
  std::vector<std::int64_t> shape;  // of a stack: the number of experts first
  std::int64_t element_bytes = 1;
  std::vector<std::uint32_t> members;  // tensors in plan order; of a stack: by expert
  bool stacked = false;
  M2nMesh source;
  M2nMesh destination;
};

// All tensors of the problem with anything to move, in the job's own order (a stack where its first
// expert stands). What M2N cannot express is left out and added to `refused`.
std::vector<M2nTensor> m2n_tensors(const ReshardProblem& problem, RefusalList& refused);

// The part of the tensor that a shard is, as a box of the (stacked) tensor.
Box shard_box(const M2nTensor& tensor, const M2nMesh& mesh, std::int32_t shard);

// "model.layers.3.mlp.experts.7.up_proj.weight" -> its stack's name and 7; nothing where the name
// has no ".experts.N." in it. With several, the last one counts.
struct ExpertName {
  std::string stack;
  std::int64_t expert = 0;
};
std::optional<ExpertName> expert_name(const std::string& name);

}  // namespace transload
