// The table of predicted against measured times, and what it says about classes of measurements.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulator/calibration/calibration.h"
#include "simulator/validation/fit.h"
#include "simulator/validation/measurement.h"
#include "simulator/validation/replay.h"

namespace transload {

struct ValidatedRow {
  const Measurement* measurement = nullptr;
  Replay replay;
  HostPrediction prediction;
  double error = 0;  // relative_error
  bool fitted = false;
  // With constants fitted without this row; the same as `error` for rows that nothing was fitted
  // on.
  double leave_one_out_error = 0;
  double naive_error = 0;
  std::optional<double> interpolated_error;
  // Of a row that is far off: which published fact is missing, or what we leave out
  // (simulator/validation/far_off.yaml); empty where nobody has found out.
  std::string explanation;
};

// Rows whose error is larger are far off.
inline constexpr double kFarOff = 0.25;

// Rows of one class and framework, or of one class over all frameworks (framework empty).
struct ClassSummary {
  std::string klass;
  std::string framework;
  std::size_t n = 0;
  std::size_t fitted = 0;
  double median_abs_error = 0;
  double within_25pct = 0;          // share
  double leave_one_out_median = 0;  // of absolute errors: the figure that counts
  double naive_median = 0;
  std::optional<double> interpolated_median;  // where it says anything
};

// Two measurements that differ in strategy (or its mode) only.
struct StrategyPair {
  std::string faster;  // as measured; ids
  std::string slower;
  bool right = false;  // predicted in the same order
};

struct SkippedRow {
  std::string id;
  std::string why;
  bool predictable = false;
};

// What stands behind `framework: NAME`.
struct FrameworkCoverage {
  std::string framework;
  std::size_t constants = 0;
  std::size_t measurements = 0;  // of the file
  std::size_t predicted = 0;     // of them
  std::size_t fitted = 0;        // of the predicted ones, those that constants were fitted on
};

struct ValidationReport {
  std::vector<Measurement> measurements;
  std::vector<ValidatedRow> rows;
  std::vector<ClassSummary> classes;
  std::vector<StrategyPair> pairs;
  std::vector<SkippedRow> skipped;
  std::vector<Calibration> calibrations;      // used, by framework
  std::vector<FrameworkCoverage> frameworks;  // all that are known, by name
  std::size_t predictable = 0;                // rows so marked
};

struct ValidationOptions {
  ReplayOptions replay;
  bool refit = false;  // fit the constants anew instead of taking the files'
  std::function<void(std::size_t done, std::size_t all, const std::string& id)> progress;
};

ValidationReport validate(std::vector<Measurement> measurements,
                          const ValidationOptions& options = {});

// Seconds by the rule of thumb that NeMo RL ships with its documents: linear in the payload between
// measured anchors, on 400 Gb/s per rank (NeMo RL 7ea279a, sparse refit calculator).
double interpolated_seconds(double payload_bytes);

}  // namespace transload
