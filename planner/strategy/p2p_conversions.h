// Conversions in p2p's full-tensor mode: whole tensors are quantised out of the gathered copy, so
// that it does not matter where the trainers' shards cut blocks. Internal to p2p.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/layout/problem.h"

namespace transload {

// Values, and what they are made from and with, by index of the problem's groups. Tensor i of each
// belongs to tensor i of the others.
struct ConvertedGroup {
  static constexpr std::uint32_t kNoScales = UINT32_MAX;
  std::uint32_t values = 0;
  std::uint32_t original = 0;
  std::uint32_t scales = kNoScales;
};
std::vector<ConvertedGroup> converted_groups(const ReshardProblem& problem);

// The problem with all conversions at the source: nothing is landed raw on the receivers.
ReshardProblem made_at_source(const ReshardProblem& problem);

}  // namespace transload
