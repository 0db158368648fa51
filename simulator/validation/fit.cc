#include "simulator/validation/fit.h"

#include <algorithm>
#include <cmath>

namespace transload {
namespace {

// How much a factor of e away from the middle of the limits costs, against the same misfit of a
// row.
constexpr double kPrior = 1e-3;

double middle_of(const HostCost& cost) {
  return std::sqrt(std::max(cost.low, 1e-12) * std::max(cost.high, 1e-12));
}

double objective(const Calibration& calibration, const std::vector<FitRow>& rows) {
  double sum = 0;
  for (const FitRow& row : rows) {
    const double miss = std::log1p(std::max(
        -0.999999, relative_error(*row.measurement, predicted_seconds(calibration, *row.replay))));
    sum += miss * miss;
  }
  for (const HostCost& cost : calibration.costs) {
    if (cost.kind != ConstantKind::kFitted) continue;
    const double away = std::log(cost.value / middle_of(cost));
    sum += kPrior * away * away;
  }
  return sum;
}

}  // namespace

std::set<std::string> fitted_rows(const Calibration& calibration) {
  std::set<std::string> ids;
  for (const HostCost& cost : calibration.costs)
    ids.insert(cost.fitted_on.begin(), cost.fitted_on.end());
  return ids;
}

double predicted_seconds(const Calibration& calibration, const Replay& replay) {
  return add_host_costs(calibration, replay.strategy, replay.work, replay.transport_s).refit_s;
}

Calibration refit_constants(const Calibration& calibration, const std::vector<FitRow>& rows,
                            const std::string& without) {
  const std::set<std::string> wanted = fitted_rows(calibration);
  std::vector<FitRow> used;
  for (const FitRow& row : rows)
    if (wanted.contains(row.replay->id) && row.replay->id != without && row.measurement->low_s)
      used.push_back(row);
  Calibration best = calibration;
  for (HostCost& cost : best.costs)
    if (cost.kind == ConstantKind::kFitted) cost.value = middle_of(cost);
  double least = objective(best, used);
  // Factors shrink from 2 to 1.0001; a pass that finds nothing better narrows them.
  for (double factor = 2; factor > 1.0001;) {
    bool better = false;
    for (std::size_t i = 0; i < best.costs.size(); ++i) {
      if (best.costs[i].kind != ConstantKind::kFitted) continue;
      for (const double step : {factor, 1 / factor}) {
        Calibration tried = best;
        HostCost& cost = tried.costs[i];
        cost.value = std::clamp(cost.value * step, std::max(cost.low, 1e-12), cost.high);
        const double found = objective(tried, used);
        if (found < least - 1e-12) {
          best = std::move(tried);
          least = found;
          better = true;
        }
      }
    }
    if (!better) factor = std::sqrt(factor);
  }
  return best;
}

}  // namespace transload
