// The calls of a refit under NCCL M2N, in the order in which ranks issue them, and the staging slot
// that each takes.
//
// A communicator runs its tensors one after the other; communicators run side by side. As M2N's own
// model benchmark does, all tensors of one kind (one name but for its numbers) are issued before
// the next kind, round robin over the communicators. A call takes one of a few staging slots on
// every rank that it touches, in turn, and waits for whoever had it last.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/strategy/m2n/moves.h"

namespace transload {

struct M2nCall {
  M2nTensor tensor;
  M2nMoves moves;
  std::uint32_t communicator = 0;
  std::vector<Rank> ranks;          // of both sides, ascending
  std::vector<std::uint32_t> slot;  // by position in `ranks`: the staging slot that the call takes

  std::uint32_t slot_of(Rank rank) const;
};

// `slots`: staging slots of a rank.
std::vector<M2nCall> m2n_calls(std::vector<M2nTensor> tensors, std::vector<M2nMoves> moves,
                               std::uint32_t slots);

// "model.layers.3.mlp.gate.weight" -> "model.layers.*.mlp.gate.weight".
std::string kind_of_name(const std::string& name);

}  // namespace transload
