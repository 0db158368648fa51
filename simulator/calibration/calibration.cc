#include "simulator/calibration/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "common/units.h"

namespace transload {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"published", "fitted", "assumed"};

double seconds_of(const HostCost& cost, const HostWork& work, double transport_s) {
  const double count = cost.unit == WorkUnit::kTransport ? transport_s : work[cost.unit];
  switch (cost.form) {
    case CostForm::kSeconds:
      return cost.value * count;
    case CostForm::kRate:
      return count / cost.value;
    case CostForm::kEfficiency:
      return transport_s * (1 / cost.value - 1);
  }
  return 0;
}

}  // namespace

std::string_view name_of(ConstantKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

bool HostCost::applies_to(const std::string& strategy) const {
  const std::string without_mode = strategy.substr(0, strategy.find(':'));
  return strategies.empty() ||
         std::any_of(strategies.begin(), strategies.end(), [&](const std::string& entry) {
           return entry == strategy || entry == without_mode;
         });
}

std::string HostCost::text() const {
  switch (form) {
    case CostForm::kSeconds:
      return fmt::format("{} per {}", format_seconds(value), name_of(unit));
    case CostForm::kRate:
      return fmt::format("{} of {}s", format_rate(value), name_of(unit));
    case CostForm::kEfficiency:
      return fmt::format("{:.3g} of the simulated rate", value);
  }
  return "";
}

HostPrediction add_host_costs(const Calibration& calibration, const std::string& strategy,
                              const HostWork& work, double transport_s) {
  HostPrediction prediction;
  prediction.transport_s = transport_s;
  // Work beside the transport is hidden as long as the transport lasts; the transport's own losses
  // make it last longer.
  double cover_s = transport_s;
  for (const HostCost& cost : calibration.costs)
    if (cost.form == CostForm::kEfficiency && cost.applies_to(strategy))
      cover_s += seconds_of(cost, work, transport_s);
  prediction.refit_s = transport_s;
  for (const HostCost& cost : calibration.costs) {
    if (!cost.applies_to(strategy)) continue;
    HostPhase phase{cost.name, seconds_of(cost, work, transport_s), 0};
    phase.exposed_s = phase.seconds;
    if (cost.beside_transport) {
      const double hidden = std::min(phase.seconds, cover_s);
      phase.exposed_s -= hidden;
      cover_s -= hidden;
    }
    prediction.refit_s += phase.exposed_s;
    prediction.phases.push_back(std::move(phase));
  }
  return prediction;
}

}  // namespace transload
