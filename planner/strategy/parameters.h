// Which tensor groups are parts of one parameter of an engine: q, k and v of a fused projection are
// three tensors here, one parameter to a planner that walks the engine's own modules. Internal to
// planner/strategy.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planner/layout/problem.h"

namespace transload {

// By tensor group: the number of its parameter on that side (of a destination in all its pools).
// Groups are judged by their first tensor, because the tensors of a group are alike.
std::vector<std::uint32_t> parameter_of_group(const ReshardProblem& problem, bool source);

// By parameter: the bytes of one copy of it that each rank holds.
std::vector<std::map<Rank, std::int64_t>> parameter_bytes(
    const ReshardProblem& problem, bool source, const std::vector<std::uint32_t>& parameter);

}  // namespace transload
