#include "cli/range_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/table.h"
#include "common/units.h"

namespace transload {

nlohmann::json range_json(const RefitRange& range) {
  nlohmann::json varies = nlohmann::json::array();
  for (const VaryingEfficiency& each : range.varies)
    varies.push_back({{"name", each.name},
                      {"low", each.low},
                      {"likely", each.likely},
                      {"high", each.high},
                      {"estimate_at_low_s", each.estimate_at_low_s},
                      {"estimate_at_high_s", each.estimate_at_high_s}});
  return {{"low_s", range.low_s},
          {"likely_s", range.likely_s},
          {"high_s", range.high_s},
          {"varies", std::move(varies)}};
}

std::string range_text(const RefitRange& range) {
  if (range.varies.empty())
    return "range: none; the topology states no ranges of its efficiencies (low and high)\n";
  Table table(
      {"efficiency of", "low", "likely", "high", "refit at low", "refit at high"},
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  for (const VaryingEfficiency& each : range.varies)
    table.add({each.name, fmt::format("{:.3g}", each.low), fmt::format("{:.3g}", each.likely),
               fmt::format("{:.3g}", each.high), format_seconds(each.estimate_at_low_s),
               format_seconds(each.estimate_at_high_s)});
  return fmt::format(
             "range: {} to {}, likely {} (simulated, all efficiencies at one end together)\n\n",
             format_seconds(range.low_s), format_seconds(range.high_s),
             format_seconds(range.likely_s)) +
         table.text() + "one at a time, all others as likely: closed-form estimates\n";
}

}  // namespace transload
