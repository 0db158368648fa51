// `simulate --range` for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "simulator/sizing/refit_range.h"

namespace transload {

// {low_s, likely_s, high_s, varies[]: {name, low, likely, high, estimate_at_low_s,
// estimate_at_high_s}}
nlohmann::json range_json(const RefitRange& range);
std::string range_text(const RefitRange& range);

}  // namespace transload
