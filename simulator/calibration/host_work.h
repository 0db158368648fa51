// How much host work a refit has: the counts that a framework's costs multiply.
//
// Published refits spend much of their time on the hosts: a loader handles every tensor, a bucket
// is handed over, trainers assemble full tensors. A framework's calibration file says what one unit
// of each costs; here the units are counted, from the plan alone.
#pragma once

#include <array>
#include <string_view>

#include "planner/schedule/plan_file.h"

namespace transload {

enum class WorkUnit : unsigned char {
  kRefit,   // 1
  kTensor,  // published tensors of the job
  kCall,    // feed-forward projections; the experts of a layer stacked: what NeMo RL reshards in
            // one call
  kRestTensor,    // tensors that are no part of such a projection
  kBucket,        // packed buckets of a broadcast
  kStage,         // pipeline stages of the trainer
  kByte,          // payload: the bytes of all tensors, once
  kStageTensor,   // of the stage that has most
  kStageByte,     // of the stage that has most
  kLandedByte,    // that the destination rank with most of them receives or copies
  kHeldByte,      // of weights on the source rank with most of them
  kScale,         // tensors in 8-bit floats, each with a tensor of scales that travels beside it
  kTurnByte,      // of the source rank with most, times the trainer's stages: what is sent in turns
  kCrossingByte,  // payload, where no node of the trainer holds all of it: gathers cross nodes
  kTransposedByte,  // of the source and of the destination rank with most: weights that receivers
                    // cut along the last dimension, into runs below 256 KiB, and senders do not
  kCallRank,        // calls of a stage, the experts of a layer stacked in one, times the ranks of
                    // its communicator (the stage's and all receivers'); of the largest stage
  kTransport,       // seconds of the simulated transport
};
inline constexpr std::size_t kWorkUnits = 17;

std::string_view name_of(WorkUnit unit);

// Counts by unit; kTransport is left 0, it is known after the simulation only.
struct HostWork {
  std::array<double, kWorkUnits> count{};
  double operator[](WorkUnit unit) const { return count[static_cast<std::size_t>(unit)]; }
  double& operator[](WorkUnit unit) { return count[static_cast<std::size_t>(unit)]; }
};

HostWork host_work(const Plan& plan);

}  // namespace transload
