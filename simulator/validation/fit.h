// Fitting a framework's constants to the measurements that its file names, and what they would be
// without one of them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "simulator/calibration/calibration.h"
#include "simulator/validation/measurement.h"
#include "simulator/validation/replay.h"

namespace transload {

struct FitRow {
  const Measurement* measurement = nullptr;
  const Replay* replay = nullptr;
};

// Ids of all measurements that some constant was fitted on.
std::set<std::string> fitted_rows(const Calibration& calibration);

// The calibration with its fitted constants chosen anew, inside their limits, for those of `rows`
// that it was fitted on and that `without` is not: coordinate search on the squared logarithm of
// predicted over measured time (0 inside a range). Of values that fit equally well the one nearer
// to the middle of the limits (of the logarithm) wins.
Calibration refit_constants(const Calibration& calibration, const std::vector<FitRow>& rows,
                            const std::string& without = "");

double predicted_seconds(const Calibration& calibration, const Replay& replay);

}  // namespace transload
