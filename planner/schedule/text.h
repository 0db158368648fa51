// Names on their way out. Names of tensors, jobs and ports come from users and may hold anything;
// these functions make them fit for JSON, for terminals and for pictures without ever failing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace transload {

// The text with every byte that is not part of well-formed UTF-8 (RFC 3629) replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

// As valid_utf8, on one line: control characters become spaces.
std::string one_line(std::string_view text);

// A JSON string, quotes included. Always valid, whatever the bytes.
std::string json_quoted(std::string_view text);

// At most `characters` characters (code points) of a valid UTF-8 text, the last of them an ellipsis
// if something had to go.
std::string shortened(std::string_view text, std::size_t characters);

// Number of code points of a valid UTF-8 text: its width in a table.
std::size_t width_of(std::string_view text);

}  // namespace transload
