#include "simulator/validation/measurement.h"

#include <cmath>
#include <set>

#include "common/home.h"
#include "common/yaml.h"

namespace transload {
namespace {

// Scalars that may be null or absent.
std::optional<YamlValue> given(YamlMap& map, const char* key) {
  const auto value = map.optional(key);
  return value && !value->is_null() ? value : std::nullopt;
}

std::string text_or_empty(YamlMap& map, const char* key) {
  const auto value = given(map, key);
  return value ? value->text() : "";
}

std::optional<double> number(YamlMap& map, const char* key) {
  const auto value = given(map, key);
  if (!value) return std::nullopt;
  const double found = value->number();
  if (!(found > 0)) value->fail("expected a positive number");
  return found;
}

MeasuredSide read_side(YamlMap& row, const char* key) {
  MeasuredSide side;
  const auto value = given(row, key);
  if (!value) return side;
  YamlMap map = value->map();
  side.engine = text_or_empty(map, "engine");
  side.note = text_or_empty(map, "note");
  for (const auto& [name, field] :
       {std::pair{"gpus", &side.gpus}, std::pair{"nodes", &side.nodes}, std::pair{"tp", &side.tp},
        std::pair{"pp", &side.pp}, std::pair{"ep", &side.ep}, std::pair{"etp", &side.etp},
        std::pair{"cp", &side.cp}, std::pair{"dp", &side.dp},
        std::pair{"replicas", &side.replicas}})
    if (const auto size = given(map, name)) *field = size->integer_in(1, 1 << 20);
  map.finish();
  return side;
}

void read_times(YamlMap& map, Measurement& row) {
  row.low_s = number(map, "time_min_s");
  row.high_s = number(map, "time_max_s");
  if (const auto time = number(map, "time_s")) row.low_s = row.high_s = time;
  if (row.low_s.has_value() != row.high_s.has_value() || (row.low_s && *row.low_s > *row.high_s))
    map.fail("expected time_s, or time_min_s and time_max_s in this order");
}

Measurement read_row(const YamlValue& value) {
  YamlMap map = value.map();
  Measurement row;
  row.id = map.required("id").text();
  row.model = text_or_empty(map, "model");
  row.dtype_train = text_or_empty(map, "dtype_train");
  row.dtype_gen = text_or_empty(map, "dtype_gen");
  row.trainer = read_side(map, "trainer");
  row.inference = read_side(map, "inference");
  row.gpu = text_or_empty(map, "gpu");
  row.nic = text_or_empty(map, "nic");
  row.method = text_or_empty(map, "method");
  row.scope = text_or_empty(map, "scope");
  row.notes = text_or_empty(map, "notes");
  row.source = text_or_empty(map, "source");
  row.framework = text_or_empty(map, "framework");
  row.strategy = text_or_empty(map, "strategy");
  row.klass = map.required("class").word_of({"transport", "refit", "delta", "colocated", "other"});
  const auto predictable = given(map, "predictable");
  row.predictable = predictable && predictable->boolean();
  row.payload_gb = number(map, "payload_gb");
  read_times(map, row);
  if (const auto breakdown = given(map, "breakdown"); breakdown && breakdown->is_map()) {
    YamlMap parts = breakdown->map();
    row.bucket_gib = number(parts, "bucket_gib");
  }
  // Not needed for a prediction.
  for (const char* key : {"url", "date", "params", "bulk_fraction", "bandwidth", "confidence"})
    map.optional(key);
  map.finish();
  return row;
}

std::vector<Measurement> read_rows(const YamlValue& root) {
  std::vector<Measurement> rows;
  std::set<std::string> ids;
  for (const YamlValue& value : root.list()) {
    rows.push_back(read_row(value));
    if (!ids.insert(rows.back().id).second) value.fail("two rows have the id " + rows.back().id);
  }
  return rows;
}

}  // namespace

std::vector<Measurement> load_measurements(const std::string& path) {
  return read_rows(YamlValue::from_file(path));
}

std::vector<Measurement> measurements_from_text(const std::string& text, const std::string& name) {
  return read_rows(YamlValue::from_text(text, name));
}

std::string own_measurements() {
  return transload_home() + "/simulator/validation/measurements.json";
}

double relative_error(const Measurement& row, double predicted_s) {
  if (predicted_s < *row.low_s) return predicted_s / *row.low_s - 1;
  if (predicted_s > *row.high_s) return predicted_s / *row.high_s - 1;
  return 0;
}

double measured_seconds(const Measurement& row) { return std::sqrt(*row.low_s * *row.high_s); }

}  // namespace transload
