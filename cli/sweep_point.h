// One point of a sweep: its job planned with every strategy, the best of them simulated.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "cli/sweep_file.h"

namespace transload {

// A sweep tells completions apart five times as coarsely as `simulate`: within about 1 % of its
// figure instead of 0.2 %.
inline constexpr double kSweepShare = 0.01;

// One row a strategy, the one with the least estimate first; those that refuse the job last, with
// `unsupported`. A job that cannot be read or planned at all is one row without a strategy, its
// reason in `refused`. RunFailure only for failures of the machine.
nlohmann::json rows_of_point(const Sweep& sweep, const SweepPoint& point);

}  // namespace transload
