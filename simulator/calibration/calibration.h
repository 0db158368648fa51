// What the hosts of a published RL framework add to the transport: simulator/calibration/NAME.yaml.
//
// A plan says which bytes go where. A framework also runs Python: its trainer assembles and
// converts tensors, its loader handles each of them, workers are called and waited for. Each file
// has at most six constants, every one with unit, meaning, physical limits and the measurements it
// was fitted on. A prediction is the simulated transport plus these costs as named phases; none is
// hidden in another figure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulator/calibration/host_work.h"

namespace transload {

inline constexpr std::size_t kMostConstants = 6;

// How a constant becomes seconds.
enum class CostForm : unsigned char {
  kSeconds,     // value x count of its unit
  kRate,        // count / value (bytes/s)
  kEfficiency,  // transport x (1 / value - 1): what the transport loses against the simulated one
};

enum class ConstantKind : unsigned char { kPublished, kFitted, kAssumed };
std::string_view name_of(ConstantKind kind);

struct HostCost {
  std::string name;  // of the phase: "engine loader"
  std::string key;   // in the file: "load_per_tensor"
  double value = 0;  // s, bytes/s or share
  double low = 0;    // physical limits, inclusive
  double high = 0;
  CostForm form = CostForm::kSeconds;
  WorkUnit unit = WorkUnit::kRefit;
  bool beside_transport = false;        // runs beside it: only what is longer counts
  std::vector<std::string> strategies;  // that pay it; empty: all
  ConstantKind kind = ConstantKind::kAssumed;
  std::vector<std::string> fitted_on;  // ids of measurements
  std::string meaning;
  std::string source;

  bool applies_to(const std::string& strategy) const;
  std::string text() const;  // the value with its unit: "28 us per tensor"
};

struct Calibration {
  std::string framework;
  std::vector<HostCost> costs;
};

// Names of the files, sorted.
std::vector<std::string> calibrated_frameworks();
std::string calibration_folder();

// InputError for an unknown framework (with the nearest known name), more than six constants, a
// value outside its limits, a fitted constant without rows.
Calibration load_calibration(const std::string& framework);
Calibration calibration_from_text(const std::string& text, const std::string& name);

// The framework that the plan's job names; "none" where it names none.
std::string framework_of(const Plan& plan);

// One named part of a refit on top of its transport. `seconds` is all its work, `exposed_s` what
// the refit is longer for it.
struct HostPhase {
  std::string name;
  double seconds = 0;
  double exposed_s = 0;
};

struct HostPrediction {
  double transport_s = 0;
  double refit_s = 0;  // transport_s plus all exposed_s
  std::vector<HostPhase> phases;
};

// `strategy` is the plan's, with its mode behind a colon if it has one; costs may name either.
HostPrediction add_host_costs(const Calibration& calibration, const std::string& strategy,
                              const HostWork& work, double transport_s);

}  // namespace transload
