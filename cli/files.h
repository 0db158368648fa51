// Files that commands write.
#pragma once

#include <string>

namespace transload {

// InputError naming `option` if a file cannot be made at `path`: its folder is missing or not
// writable, or `path` is a folder. For complaining before the work rather than after it.
void require_writable(const std::string& path, const std::string& option);

// Makes the folder if need be. InputError naming `option` if that is not possible.
void require_folder(const std::string& path, const std::string& option);

// Writes through a neighbour and a rename: readers see the old content or the new. InputError if
// that is not possible.
void write_text_file(const std::string& content, const std::string& path);

}  // namespace transload
