// Which operations set the refit time: the chain that ends with the last operation.
#pragma once

#include <span>
#include <vector>

#include "planner/schedule/trace.h"

namespace transload {

// Walks back from the operation that finishes last (of several, the one with the least key) along
// what released each: a predecessor, an upstream, the operation that made room in its port's
// window, that completed the group before its own, or whose launch its lane was busy with. First to
// last.
std::vector<OpId> critical_path(const OpTimes& times, std::span<const OpId> released_by);

}  // namespace transload
