// How far off a prediction may be: the refit with all efficiencies at the good and at the bad end
// of what was measured, and what each kind of link contributes.
#pragma once

#include <string>
#include <vector>

#include "simulator/simulate.h"
#include "simulator/sizing/link_rates.h"

namespace transload {

// One efficiency that varies. The two times are closed-form estimates of the refit with this one at
// its end and all others as likely.
struct VaryingEfficiency {
  std::string name;  // "nic"
  double low = 0;
  double likely = 0;
  double high = 0;
  double estimate_at_low_s = 0;
  double estimate_at_high_s = 0;
};

// All three simulated. The plan is the same: it was made for the likely efficiencies.
struct RefitRange {
  double low_s = 0;                       // all efficiencies at their high ends
  double likely_s = 0;                    // as simulated
  double high_s = 0;                      // all efficiencies at their low ends
  std::vector<VaryingEfficiency> varies;  // empty: the plan's topology states no ranges
};

// `likely_s` is the simulated refit of `plan` itself. Throws what simulate throws.
RefitRange refit_range(const Plan& plan, const std::vector<LinkRange>& ranges, double likely_s,
                       const SimulateOptions& options = {});

}  // namespace transload
