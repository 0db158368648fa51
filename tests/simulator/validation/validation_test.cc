// Measurements as rows, rows as jobs, and the fit of constants to them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "common/error.h"
#include "common/home.h"
#include "common/yaml.h"
#include "planner/job/job.h"
#include "simulator/validation/report.h"
#include "simulator/validation/row_job.h"

namespace transload {
namespace {

Measurement measured(const std::string& id, double low, double high) {
  Measurement row;
  row.id = id;
  row.low_s = low;
  row.high_s = high;
  return row;
}

TEST(Validation, ErrorIsZeroInsideARangeAndRelativeToTheNearerEnd) {
  const Measurement row = measured("r", 2, 4);
  EXPECT_DOUBLE_EQ(relative_error(row, 3), 0);
  EXPECT_DOUBLE_EQ(relative_error(row, 1), -0.5);
  EXPECT_DOUBLE_EQ(relative_error(row, 5), 0.25);
}

TEST(Validation, RefusesWhatIsNoMeasurement) {
  EXPECT_THROW(measurements_from_text("[{id: a, class: refit, gpuz: 4}]", "m"), InputError);
  EXPECT_THROW(measurements_from_text("[{id: a, class: refits}]", "m"), InputError);
  EXPECT_THROW(measurements_from_text("[{id: a, class: refit, time_min_s: 2}]", "m"), InputError);
  EXPECT_THROW(measurements_from_text("[{id: a, class: refit}, {id: a, class: refit}]", "m"),
               InputError);
}

// NeMo RL's anchors: 63.2 GB in 0.84 to 1.60 s, 247.2 GB in 1.46 to 1.74 s.
TEST(Validation, InterpolationMeetsItsAnchors) {
  EXPECT_NEAR(interpolated_seconds(63.2e9), 1.22, 1e-9);
  EXPECT_NEAR(interpolated_seconds(247.2e9), 1.6, 1e-9);
  EXPECT_NEAR(interpolated_seconds(155.2e9), 1.41, 1e-9);
  EXPECT_NEAR(interpolated_seconds(31.6e9), 0.61, 1e-9);
}

TEST(Validation, FindsTheConstantsThatMadeTheTimes) {
  const Calibration calibration = calibration_from_text(
      "costs:\n"
      "  a: {phase: a, unit: s, per: tensor, value: 1ms, limits: [1us, 1s], kind: fitted, "
      "fitted_on: [x, y], meaning: m, source: s}\n"
      "  b: {phase: b, unit: bytes/s, per: byte, value: 5GB/s, limits: [1GB/s, 100GB/s], kind: "
      "fitted, fitted_on: [x, y], meaning: m, source: s}\n",
      "c");
  Replay x;
  x.id = "x";
  x.strategy = "p2p";
  x.transport_s = 1;
  x.work[WorkUnit::kTensor] = 1000;
  x.work[WorkUnit::kByte] = 10e9;
  Replay y = x;
  y.id = "y";
  y.work[WorkUnit::kTensor] = 100;
  y.work[WorkUnit::kByte] = 100e9;
  // 3 ms a tensor and 20 GB/s: 1 + 3 + 0.5 and 1 + 0.3 + 5.
  const Measurement mx = measured("x", 4.5, 4.5);
  const Measurement my = measured("y", 6.3, 6.3);
  const Calibration fitted = refit_constants(calibration, {{&mx, &x}, {&my, &y}});
  EXPECT_NEAR(predicted_seconds(fitted, x), 4.5, 0.045);
  EXPECT_NEAR(predicted_seconds(fitted, y), 6.3, 0.063);
  EXPECT_NEAR(fitted.costs[0].value, 3e-3, 3e-4);
  // Without y the row x alone is met, and y no longer is what its time says.
  const Calibration without = refit_constants(calibration, {{&mx, &x}, {&my, &y}}, "y");
  EXPECT_NEAR(predicted_seconds(without, x), 4.5, 0.045);
  EXPECT_GT(std::abs(relative_error(my, predicted_seconds(without, y))), 0.05);
}

TEST(Validation, OwnMeasurementsAreReadAndMostPredictableRowsBecomeJobs) {
  const std::vector<Measurement> rows = load_measurements(own_measurements());
  EXPECT_EQ(rows.size(), 180u);
  const RowJobMaker maker;
  std::size_t predictable = 0;
  std::size_t missing = 0;
  for (const Measurement& row : rows) {
    if (!row.predictable) continue;
    ++predictable;
    missing += !maker.make(row).missing.empty();
  }
  EXPECT_EQ(predictable, 51u);
  EXPECT_LE(10 * missing, predictable);
}

// 61 layers over 16 stages: 3, 14 times 4, 2, as NeMo RL's recipe has it.
TEST(Validation, WritesAJobThatItsPublishedSizesMake) {
  for (const Measurement& row : load_measurements(own_measurements())) {
    if (row.id != "nrl-yk-dsv3-breakdown") continue;
    const RowJob made = RowJobMaker().make(row);
    EXPECT_NE(made.job_text.find("first: 3, last: 2"), std::string::npos) << made.job_text;
    const Job job = job_from_text(made.job_text, row.id, "");
    EXPECT_EQ(job.problem.source_ranks.size(), 256u);
    EXPECT_EQ(job.problem.destination_ranks.size(), 256u);
    EXPECT_EQ(job.framework, "nemo-rl");
  }
}

// No framework's constants may rest on more than a third of its measurements.
TEST(Validation, ConstantsRestOnAThirdOfTheirRows) {
  std::map<std::string, std::size_t> rows;
  std::set<std::string> ids;
  for (const Measurement& row : load_measurements(own_measurements())) {
    ids.insert(row.id);
    ++rows[row.framework];
  }
  for (const std::string& name : calibrated_frameworks()) {
    const std::set<std::string> fitted = fitted_rows(load_calibration(name));
    EXPECT_LE(3 * fitted.size(), rows[name]) << name;
    for (const std::string& id : fitted) EXPECT_TRUE(ids.contains(id)) << id;
  }
}

// Everything that is said about rows far off is about a row of the collection.
TEST(Validation, ExplainsRowsThatExist) {
  std::set<std::string> ids;
  for (const Measurement& row : load_measurements(own_measurements())) ids.insert(row.id);
  const YamlValue file =
      YamlValue::from_file(transload_home() + "/simulator/validation/far_off.yaml");
  EXPECT_FALSE(file.map().entries().empty());
  for (const auto& [id, text] : file.map().entries()) EXPECT_TRUE(ids.contains(id)) << id;
}

// One row that is far off and explained (ten times too slow), and one that is right: the report has
// the explanation of the first only, and every framework with what stands behind it.
TEST(Validation, ReportsExplanationsAndFrameworks) {
  std::vector<Measurement> rows;
  for (const Measurement& row : load_measurements(own_measurements()))
    if (row.id == "verl-a800-8b-1n-nccl" || row.id == "verl-7263-stock") rows.push_back(row);
  ValidationOptions options;
  options.replay.most_simulated_operations = 0;  // estimates are quick
  const ValidationReport report = validate(std::move(rows), options);
  ASSERT_EQ(report.rows.size(), 2u);
  for (const ValidatedRow& row : report.rows)
    EXPECT_EQ(row.explanation.empty(), row.replay.id == "verl-7263-stock") << row.replay.id;
  EXPECT_EQ(report.frameworks.size(), calibrated_frameworks().size());
  for (const FrameworkCoverage& coverage : report.frameworks) {
    EXPECT_LE(coverage.constants, kMostConstants);
    EXPECT_EQ(coverage.predicted, coverage.framework == "verl" ? 2u : 0u) << coverage.framework;
    EXPECT_EQ(coverage.fitted, coverage.framework == "verl" ? 1u : 0u) << coverage.framework;
  }
}

}  // namespace
}  // namespace transload
