#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/validation_text.h"

namespace transload {
namespace {

nlohmann::json row_json(const ValidatedRow& row) {
  const Measurement& measured = *row.measurement;
  nlohmann::json json = {{"id", measured.id},
                         {"class", measured.klass},
                         {"strategy", row.replay.strategy},
                         {"framework", row.replay.framework},
                         {"predicted_s", row.prediction.refit_s},
                         {"measured_s", measured_seconds(measured)},
                         {"measured_min_s", *measured.low_s},
                         {"measured_max_s", *measured.high_s},
                         {"error", row.error},
                         {"fitted", row.fitted},
                         {"leave_one_out_error", row.leave_one_out_error},
                         {"predictable", measured.predictable},
                         {"transport_s", row.replay.transport_s},
                         {"transport", row.replay.simulated ? "simulated" : "estimated"},
                         {"bound_s", row.replay.bound_s},
                         {"naive_s", row.replay.naive_s},
                         {"naive_error", row.naive_error},
                         {"interpolated_error", nullptr},
                         {"assumed", row.replay.assumed},
                         {"explanation", row.explanation}};
  if (row.interpolated_error) json["interpolated_error"] = *row.interpolated_error;
  for (const HostPhase& phase : row.prediction.phases)
    json["phases"].push_back(
        {{"name", phase.name}, {"seconds", phase.seconds}, {"exposed_s", phase.exposed_s}});
  for (std::size_t unit = 0; unit + 1 < kWorkUnits; ++unit)
    json["work"][std::string(name_of(static_cast<WorkUnit>(unit)))] = row.replay.work.count[unit];
  return json;
}

nlohmann::json class_json(const ClassSummary& summary) {
  nlohmann::json json = {{"class", summary.klass},
                         {"framework", nullptr},
                         {"n", summary.n},
                         {"fitted", summary.fitted},
                         {"median_abs_error", summary.median_abs_error},
                         {"within_25pct", summary.within_25pct},
                         {"leave_one_out_median", summary.leave_one_out_median},
                         {"naive_median", summary.naive_median},
                         {"interpolated_median", nullptr}};
  if (!summary.framework.empty()) json["framework"] = summary.framework;
  if (summary.interpolated_median) json["interpolated_median"] = *summary.interpolated_median;
  return json;
}

nlohmann::json calibration_json(const Calibration& calibration) {
  nlohmann::json costs = nlohmann::json::array();
  for (const HostCost& cost : calibration.costs)
    costs.push_back({{"name", cost.key},
                     {"phase", cost.name},
                     {"value", cost.value},
                     {"text", cost.text()},
                     {"low", cost.low},
                     {"high", cost.high},
                     {"kind", name_of(cost.kind)},
                     {"fitted_on", cost.fitted_on}});
  return {{"framework", calibration.framework}, {"constants", std::move(costs)}};
}

}  // namespace

nlohmann::json validation_json(const ValidationReport& report) {
  nlohmann::json json = {{"rows", nlohmann::json::array()},
                         {"by_class", nlohmann::json::array()},
                         {"skipped", nlohmann::json::array()},
                         {"calibrations", nlohmann::json::array()},
                         {"predictable", report.predictable}};
  for (const ValidatedRow& row : report.rows) json["rows"].push_back(row_json(row));
  for (const ClassSummary& summary : report.classes)
    json["by_class"].push_back(class_json(summary));
  nlohmann::json list = nlohmann::json::array();
  for (const StrategyPair& pair : report.pairs)
    list.push_back({{"faster", pair.faster}, {"slower", pair.slower}, {"right", pair.right}});
  json["pairs"] = {{"n", report.pairs.size()},
                   {"right", std::count_if(report.pairs.begin(), report.pairs.end(),
                                           [](const StrategyPair& pair) { return pair.right; })},
                   {"list", std::move(list)}};
  for (const SkippedRow& row : report.skipped)
    json["skipped"].push_back({{"id", row.id}, {"why", row.why}, {"predictable", row.predictable}});
  for (const FrameworkCoverage& coverage : report.frameworks)
    json["frameworks"].push_back({{"framework", coverage.framework},
                                  {"constants", coverage.constants},
                                  {"measurements", coverage.measurements},
                                  {"predicted", coverage.predicted},
                                  {"fitted", coverage.fitted}});
  for (const Calibration& calibration : report.calibrations)
    json["calibrations"].push_back(calibration_json(calibration));
  return json;
}

}  // namespace transload
