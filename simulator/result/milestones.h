// When phases began and ended, when trainers may step again and engines may serve again.
#pragma once

#include <vector>

#include "simulator/simulate.h"

namespace transload {

// One entry per role that occurs, in the order of OpRole. An operation of the critical path adds
// the time from the end of the one before it to its own end.
std::vector<PhaseTime> phase_times(const Plan& plan, const OpTimes& times,
                                   const std::vector<OpId>& critical_path);

// Per rank, NaN where it has no weights on that side: end of the last operation that reads its
// source shards or is its export work; end of the last that writes its destination shards or is its
// load work. 0 where it has weights but nothing to do with them.
std::vector<double> source_free(const Plan& plan, const OpTimes& times);
std::vector<double> destination_ready(const Plan& plan, const OpTimes& times);

}  // namespace transload
