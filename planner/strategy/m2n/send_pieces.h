// PACK's send side: every (source shard, destination shard) box is packed once into staging, and
// put from there. Boxes of one rank differ in size by orders of magnitude between tensors, so that
// they are cut into pieces of one size, each with a slot. Internal to planner/strategy/m2n.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/strategy/m2n/calls.h"

namespace transload {

struct SendPiece {
  Rank source = 0;
  std::int32_t shard = 0;  // of the destination
  std::size_t number = 0;  // of the source shard in the receipt
  std::int64_t begin = 0;  // byte range of the receipt
  std::int64_t end = 0;
  std::uint32_t slot = 0;  // among the call's send slots of the source rank
};

// By destination shard, then source rank; `number`: of the pieces of one rank and call.
std::vector<SendPiece> send_pieces(const M2nCall& call, std::int64_t piece_bytes);

// The size of a piece that makes the send staging of the rank that needs most smallest, or nearly
// so: larger pieces are preferred up to a quarter more.
std::int64_t choose_piece_bytes(const std::vector<M2nCall>& calls);

}  // namespace transload
