// Reads simulator/calibration/NAME.yaml.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "common/home.h"
#include "common/units.h"
#include "common/yaml.h"
#include "simulator/calibration/calibration.h"

namespace transload {
namespace {

WorkUnit read_unit(const YamlValue& value) {
  std::vector<std::string_view> names;
  for (std::size_t unit = 0; unit < kWorkUnits; ++unit)
    names.push_back(name_of(static_cast<WorkUnit>(unit)));
  const std::string word = value.word_of(names);
  return static_cast<WorkUnit>(std::find(names.begin(), names.end(), word) - names.begin());
}

double read_amount(const YamlValue& value, CostForm form) {
  if (form == CostForm::kSeconds) return to_seconds(value.duration_ps());
  if (form == CostForm::kRate) return static_cast<double>(value.rate());
  return value.number();
}

std::vector<std::string> read_words(YamlMap& map, const char* key) {
  std::vector<std::string> words;
  if (const auto list = map.optional(key))
    for (const YamlValue& word : list->list()) words.push_back(word.text());
  return words;
}

HostCost read_cost(const std::string& key, const YamlValue& value) {
  YamlMap map = value.map();
  HostCost cost;
  cost.key = key;
  cost.name = map.required("phase").text();
  const std::string unit = map.required("unit").word_of({"s", "bytes/s", "share"});
  cost.form = unit == "s"         ? CostForm::kSeconds
              : unit == "bytes/s" ? CostForm::kRate
                                  : CostForm::kEfficiency;
  cost.unit =
      cost.form == CostForm::kEfficiency ? WorkUnit::kTransport : read_unit(map.required("per"));
  const YamlValue amount = map.required("value");
  cost.value = read_amount(amount, cost.form);
  const YamlValue limits = map.required("limits");
  const std::vector<YamlValue> ends = limits.list();
  if (ends.size() != 2) limits.fail("expected the lowest and the highest value that is possible");
  cost.low = read_amount(ends[0], cost.form);
  cost.high = read_amount(ends[1], cost.form);
  if (cost.form != CostForm::kSeconds && cost.low <= 0) limits.fail("expected positive limits");
  if (cost.form == CostForm::kEfficiency && cost.high > 1)
    limits.fail("a transport cannot be faster than its links: expected at most 1");
  if (cost.value < cost.low || cost.value > cost.high)
    amount.fail("the value is outside its physical limits");
  const auto beside = map.optional("beside_transport");
  cost.beside_transport = beside && beside->boolean();
  cost.strategies = read_words(map, "strategies");
  const YamlValue kind = map.required("kind");
  const std::string word = kind.word_of({"published", "fitted", "assumed"});
  cost.kind = word == "fitted"      ? ConstantKind::kFitted
              : word == "published" ? ConstantKind::kPublished
                                    : ConstantKind::kAssumed;
  cost.fitted_on = read_words(map, "fitted_on");
  if ((cost.kind == ConstantKind::kFitted) != !cost.fitted_on.empty())
    kind.fail("a fitted constant names its measurements in `fitted_on`, no other does");
  cost.meaning = map.required("meaning").text();
  cost.source = map.required("source").text();
  map.finish();
  return cost;
}

Calibration read_calibration(const YamlValue& root, const std::string& name) {
  Calibration calibration;
  calibration.framework = name;
  YamlMap map = root.map();
  const YamlValue costs = map.required("costs");
  for (const auto& [key, value] : costs.map().entries())
    calibration.costs.push_back(read_cost(key, value));
  if (calibration.costs.size() > kMostConstants)
    costs.fail(fmt::format("expected at most {} constants", kMostConstants));
  map.finish();
  return calibration;
}

}  // namespace

std::string calibration_folder() { return transload_home() + "/simulator/calibration"; }

std::vector<std::string> calibrated_frameworks() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(calibration_folder(), ignored))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Calibration load_calibration(const std::string& framework) {
  const std::vector<std::string> known = calibrated_frameworks();
  if (!std::binary_search(known.begin(), known.end(), framework)) {
    const auto near = nearest_word(framework, {known.begin(), known.end()});
    throw InputError(fmt::format("framework: expected one of none, {}, found {}{}",
                                 fmt::join(known, ", "), framework,
                                 near ? fmt::format(" (did you mean {}?)", *near) : ""));
  }
  return read_calibration(
      YamlValue::from_file(fmt::format("{}/{}.yaml", calibration_folder(), framework)), framework);
}

std::string framework_of(const Plan& plan) {
  const PlanHeader& header = plan.header();
  if (header.job_text.empty()) return "none";
  const YamlValue job = YamlValue::from_text(header.job_text, header.job_name);
  const auto framework = job.is_map() ? job.map().optional("framework") : std::nullopt;
  return framework ? framework->text() : "none";
}

Calibration calibration_from_text(const std::string& text, const std::string& name) {
  return read_calibration(YamlValue::from_text(text, name), name);
}

}  // namespace transload
