// Public measurements of refits, as rows of a file (JSON or YAML): what was moved, between which
// layouts, on what hardware, how long it took, and where that is published.
//
// simulator/validation/measurements.json is the project's own collection; a user's file has the
// same keys. Most rows leave something out, so nearly every field may be null; what is assumed
// instead is decided where a row becomes a job (simulator/validation/row_job.h), and said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transload {

// One side of a refit. Sizes as in a whole-model job; `replicas` counts inference engines.
struct MeasuredSide {
  std::string engine;
  std::optional<std::int64_t> gpus, nodes, tp, pp, ep, etp, cp, dp, replicas;
  std::string note;
};

struct Measurement {
  std::string id;
  std::string model;
  std::string dtype_train;
  std::string dtype_gen;
  MeasuredSide trainer;
  MeasuredSide inference;
  std::string gpu;
  std::string nic;
  std::string method;
  std::string scope;
  std::string notes;
  std::string framework;
  std::string strategy;  // the project's name for what the system does; empty: none of them
  std::string klass;     // transport, refit, delta, colocated or other
  bool predictable = false;
  std::optional<double> payload_gb;  // 1e9 bytes
  std::optional<double> bucket_gib;
  // Both ends are equal where one time is published; absent where none is.
  std::optional<double> low_s;
  std::optional<double> high_s;
  // Rows of one group were measured in one setting and differ in the code's version only.
  std::string source;
};

// InputError naming file, line and field: unknown keys, wrong types, two rows of one id.
std::vector<Measurement> load_measurements(const std::string& path);
std::vector<Measurement> measurements_from_text(const std::string& text, const std::string& name);
std::string own_measurements();  // path of the project's own file

// The distance of a predicted time from the measured one, relative to it: 0 inside a measured
// range, else from the nearer end; negative: predicted too fast.
double relative_error(const Measurement& row, double predicted_s);
// One figure for the measured time: the geometric mean of the range's ends.
double measured_seconds(const Measurement& row);

}  // namespace transload
