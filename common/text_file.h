// Whole text files, read with care for what a user may point at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace transload {

// The text of a plain file of at most `limit` bytes, without the mark with which some editors begin
// UTF-8. Throws InputError for what is no plain file (a pipe or a device could wait, or go on, for
// ever), cannot be read, or is larger; `kind` is what such a file is called then.
std::string read_text_file(const std::string& path, std::int64_t limit,
                           std::string_view kind = "a file of this kind");

}  // namespace transload
