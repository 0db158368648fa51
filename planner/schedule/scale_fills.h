// Zero fills as the scaler sees them: views of a buffer, like shards.
//
// A plan lists fills as single stretches; padding at the end of every row is one stretch per row.
// Stretches of equal size and spacing are one view here, cut into the digits by which the buffer's
// shards are divided, so that a dimension is divided only where the padding can be divided with it.
#pragma once

#include <span>
#include <vector>

#include "planner/schedule/scale_groups.h"

namespace transload {

// The fills of all ranks, in the order of ranks and buffers.
std::vector<FillPattern> find_fill_patterns(const Plan& plan);

// The pattern as a view. `periods`: the digits by which the buffer's shards are divided, in any
// order; a digit of the fill takes the dimension of the period whose stride it has.
ScaledRow lay_out_fill(const FillPattern& pattern, std::span<const ScaledLoop> periods);

// Adds the stretches of a (divided) view to the fill columns.
void write_fill(const FillPattern& pattern, const ScaledRow& view, PlanTables& tables);

}  // namespace transload
