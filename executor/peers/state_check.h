// Holds what a run says about its destinations against the bytes that lie in them.
#pragma once

#include <string>
#include <vector>

#include "executor/host/memory.h"
#include "executor/peers/tensor_states.h"

namespace transload {

// After a verified run that failed, whose destinations were poison before: a tensor that is said to
// be `new` holds its new values, one that is said to be `old` is poison still; `torn` says nothing.
// Returns what contradicts that, in words, the first few.
std::vector<std::string> contradictions(const Plan& plan, const HostMemory& memory,
                                        std::int32_t rank, const std::vector<TensorStateRow>& rows);

}  // namespace transload
