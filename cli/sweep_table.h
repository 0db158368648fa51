// The rows of a sweep as CSV and as a table for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/sweep_file.h"

namespace transload {

// The columns of the CSV behind those of the axes, in order.
std::vector<std::string> sweep_columns();

// A heading, then a line a row; fields as in RFC 4180, missing ones empty.
std::string sweep_csv(const Sweep& sweep, const nlohmann::json& rows);

// The best row of each point, and how many points no strategy can do.
std::string sweep_text(const Sweep& sweep, const nlohmann::json& rows);

}  // namespace transload
