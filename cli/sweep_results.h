// The results file of a sweep: one line of JSON a finished point, so that a sweep that was stopped
// goes on where it was.
//
// Lines are {"key": ..., "rows": [...]}; the key is that of cli/sweep_file.h. Workers append whole
// lines at the same time; a line that was cut off is computed again.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace transload {

using FinishedPoints = std::map<std::string, nlohmann::json>;  // key -> rows

// What the file holds; nothing where it does not exist. InputError for a file that is something
// else.
FinishedPoints read_results(const std::string& path);

// Makes the file if need be and sees to it that it ends with a whole line. InputError if it cannot
// be written.
void open_results(const std::string& path);

// Appends one point. RunFailure if the line cannot be written whole.
void append_result(const std::string& path, const std::string& key, const nlohmann::json& rows);

}  // namespace transload
