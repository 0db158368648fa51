// What a mesh must fulfil before anything is cut by it. Internal to planner/layout and planner/job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/sharding.h"

namespace transload {

// InputError, beginning with `what`, where the sharding of form 1 makes no sense for `shape` (with
// slots: the shape that has the slots as its dimension 0).
void validate_mesh(const Sharding& sharding, std::span<const std::int64_t> shape,
                   const std::string& what);

// Numbers of the axes in the order in which they are applied.
std::vector<int> application_order(const Sharding& sharding);

}  // namespace transload
