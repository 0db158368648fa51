#include "simulator/validation/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "common/home.h"
#include "common/yaml.h"

namespace transload {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// By id of a measurement.
std::map<std::string, std::string> explanations() {
  std::map<std::string, std::string> found;
  const YamlValue file =
      YamlValue::from_file(transload_home() + "/simulator/validation/far_off.yaml");
  for (const auto& [id, text] : file.map().entries()) found[id] = text.text();
  return found;
}

class Validation {
 public:
  Validation(ValidationReport& report, const ValidationOptions& options)
      : report_(report), options_(options) {}

  void run() {
    replay_all();
    calibrate();
    predict();
    summarise();
    pair_strategies();
    explain();
    cover_frameworks();
  }

 private:
  void replay_all() {
    const RowJobMaker maker;
    std::size_t done = 0;
    for (const Measurement& measurement : report_.measurements) {
      report_.predictable += measurement.predictable;
      if (options_.progress) options_.progress(++done, report_.measurements.size(), measurement.id);
      Replay replay = replay_measurement(maker, measurement, options_.replay);
      if (!replay.missing.empty()) {
        report_.skipped.push_back({measurement.id, replay.missing, measurement.predictable});
        continue;
      }
      ValidatedRow row;
      row.measurement = &measurement;
      row.replay = std::move(replay);
      report_.rows.push_back(std::move(row));
    }
  }

  std::vector<FitRow> rows_of(const std::string& framework) const {
    std::vector<FitRow> rows;
    for (const ValidatedRow& row : report_.rows)
      if (row.replay.framework == framework) rows.push_back({row.measurement, &row.replay});
    return rows;
  }

  void calibrate() {
    for (const ValidatedRow& row : report_.rows) {
      const std::string& name = row.replay.framework;
      if (calibration_.contains(name)) continue;
      Calibration calibration;
      calibration.framework = name;
      if (name != "none") calibration = load_calibration(name);
      if (options_.refit) calibration = refit_constants(calibration, rows_of(name));
      calibration_[name] = std::move(calibration);
    }
    for (const auto& [name, calibration] : calibration_)
      if (name != "none") report_.calibrations.push_back(calibration);
  }

  void predict() {
    for (ValidatedRow& row : report_.rows) {
      const Calibration& calibration = calibration_.at(row.replay.framework);
      row.prediction =
          add_host_costs(calibration, row.replay.strategy, row.replay.work, row.replay.transport_s);
      row.error = relative_error(*row.measurement, row.prediction.refit_s);
      row.fitted = fitted_rows(calibration).contains(row.replay.id);
      row.leave_one_out_error = row.error;
      if (row.fitted)
        row.leave_one_out_error = relative_error(
            *row.measurement,
            predicted_seconds(
                refit_constants(calibration, rows_of(row.replay.framework), row.replay.id),
                row.replay));
      row.naive_error = relative_error(*row.measurement, row.replay.naive_s);
      row.interpolated_error =
          relative_error(*row.measurement, interpolated_seconds(row.replay.work[WorkUnit::kByte]));
    }
  }

  void summarise() {
    std::map<std::pair<std::string, std::string>, std::vector<const ValidatedRow*>> groups;
    for (const ValidatedRow& row : report_.rows) {
      groups[{row.measurement->klass, ""}].push_back(&row);
      groups[{row.measurement->klass, row.replay.framework}].push_back(&row);
    }
    for (const auto& [key, rows] : groups) {
      ClassSummary summary;
      std::tie(summary.klass, summary.framework) = key;
      summary.n = rows.size();
      std::vector<double> errors, left_out, naive, interpolated;
      for (const ValidatedRow* row : rows) {
        summary.fitted += row->fitted;
        errors.push_back(std::abs(row->error));
        left_out.push_back(std::abs(row->leave_one_out_error));
        naive.push_back(std::abs(row->naive_error));
        if (row->interpolated_error) interpolated.push_back(std::abs(*row->interpolated_error));
      }
      summary.within_25pct =
          static_cast<double>(std::count_if(errors.begin(), errors.end(),
                                            [](double error) { return error <= 0.25; })) /
          static_cast<double>(rows.size());
      summary.median_abs_error = median(errors);
      summary.leave_one_out_median = median(left_out);
      summary.naive_median = median(naive);
      if (!interpolated.empty()) summary.interpolated_median = median(interpolated);
      report_.classes.push_back(std::move(summary));
    }
  }

  static auto setting(const Measurement& m) {
    const auto side = [](const MeasuredSide& s) {
      return std::tuple(s.gpus, s.tp, s.pp, s.ep, s.cp, s.dp, s.replicas);
    };
    return std::tuple(m.framework, m.model, m.gpu, m.dtype_train, m.dtype_gen, side(m.trainer),
                      side(m.inference));
  }

  void pair_strategies() {
    const auto& rows = report_.rows;
    for (std::size_t a = 0; a < rows.size(); ++a)
      for (std::size_t b = a + 1; b < rows.size(); ++b) {
        const Measurement& first = *rows[a].measurement;
        const Measurement& second = *rows[b].measurement;
        if (rows[a].replay.strategy == rows[b].replay.strategy ||
            setting(first) != setting(second) ||
            (*first.low_s <= *second.high_s && *second.low_s <= *first.high_s))
          continue;
        const bool first_faster = *first.high_s < *second.low_s;
        const ValidatedRow& faster = first_faster ? rows[a] : rows[b];
        const ValidatedRow& slower = first_faster ? rows[b] : rows[a];
        report_.pairs.push_back({faster.replay.id, slower.replay.id,
                                 faster.prediction.refit_s < slower.prediction.refit_s});
      }
  }

  void explain() {
    const std::map<std::string, std::string> known = explanations();
    for (ValidatedRow& row : report_.rows)
      if (const auto found = known.find(row.replay.id);
          std::abs(row.error) > kFarOff && found != known.end())
        row.explanation = found->second;
  }

  void cover_frameworks() {
    for (const std::string& name : calibrated_frameworks()) {
      FrameworkCoverage coverage;
      coverage.framework = name;
      coverage.constants = load_calibration(name).costs.size();
      for (const Measurement& row : report_.measurements)
        coverage.measurements += row.framework == name;
      for (const ValidatedRow& row : report_.rows)
        if (row.replay.framework == name) {
          ++coverage.predicted;
          coverage.fitted += row.fitted;
        }
      report_.frameworks.push_back(std::move(coverage));
    }
  }

  ValidationReport& report_;
  const ValidationOptions& options_;
  std::map<std::string, Calibration> calibration_;
};

struct Anchor {
  double gigabytes, low_s, high_s;
};
// NeMo RL 7ea279a, docs of the sparse refit: measured ranges of full refits at 400 Gb/s a rank.
constexpr std::array kAnchors = {Anchor{63.2, 0.84, 1.60}, Anchor{247.2, 1.46, 1.74},
                                 Anchor{470.2, 2.31, 2.73}, Anchor{1342.0, 3.27, 3.46}};

}  // namespace

double interpolated_seconds(double payload_bytes) {
  const double gigabytes = payload_bytes / 1e9;
  const auto middle = [](const Anchor& anchor) { return (anchor.low_s + anchor.high_s) / 2; };
  if (gigabytes <= kAnchors.front().gigabytes)
    return middle(kAnchors.front()) * gigabytes / kAnchors.front().gigabytes;
  std::size_t above = 1;
  while (above + 1 < kAnchors.size() && kAnchors[above].gigabytes < gigabytes) ++above;
  const Anchor& low = kAnchors[above - 1];
  const Anchor& high = kAnchors[above];
  const double share = (gigabytes - low.gigabytes) / (high.gigabytes - low.gigabytes);
  return middle(low) + share * (middle(high) - middle(low));
}

ValidationReport validate(std::vector<Measurement> measurements, const ValidationOptions& options) {
  ValidationReport report;
  report.measurements = std::move(measurements);
  Validation(report, options).run();
  return report;
}

}  // namespace transload
