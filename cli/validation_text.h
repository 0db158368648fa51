// A validation report in words: JSON for scripts, tables for people, a page for the documents.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "simulator/validation/report.h"

namespace transload {

nlohmann::json validation_json(const ValidationReport& report);
std::string validation_text(const ValidationReport& report);
// docs/accuracy.md; `more` are further sections (cli/published_ranges.h).
std::string validation_page(const ValidationReport& report, const std::string& more);

}  // namespace transload
