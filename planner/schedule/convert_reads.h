// How many bytes convert operations read. Internal to the making of plans.
#pragma once

#include "planner/schedule/plan.h"

namespace transload {

// Fills op_read_bytes of all converts. An operation reads once what its values are made from; the
// scales of their blocks fall off on the way. Scales that are made without any of their tensor's
// values read their blocks. Bytes are those of the elements themselves: a block of which only some
// rows are made would be read whole, but plans do not cut blocks.
void count_convert_reads(PlanTables& tables);

}  // namespace transload
