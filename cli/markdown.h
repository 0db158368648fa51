// Tables in Markdown, for pages that commands generate.
#pragma once

#include <string>
#include <vector>

namespace transload {

// One row of `rows` per line; every row has as many cells as the heading.
std::string markdown_table(const std::vector<std::string>& heading,
                           const std::vector<std::vector<std::string>>& rows);

}  // namespace transload
