// What several refits of a run come to. Internal to executor.
#pragma once

#include <vector>

#include "executor/run.h"
#include "executor/verify.h"

namespace transload {

// Median, least and most of the seconds, which are sorted; there is at least one.
void summarise(std::vector<double>& seconds, RunResult& result);

// Keeps what was verified, and the mismatches of the worst refit.
void keep_verdict(VerifyReport&& report, RunResult& result);

}  // namespace transload
